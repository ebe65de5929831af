// The kernels of the loss pass, compiled once per precision.
#include "kernels/cuda/loss_pass.cuh"

namespace blco::cuda {

template LossKernel<BLCO_SUM, BLCO_FACTOR> loss_kernel_for<BLCO_SUM, BLCO_FACTOR>(int, int, bool);

}  // namespace blco::cuda
