// The kernels of the loss pass in f64.
#include "kernels/cuda/loss_pass.cuh"

namespace blco::cuda {

template LossKernel<double, double> loss_kernel_for<double, double>(int, int, bool);

}  // namespace blco::cuda
