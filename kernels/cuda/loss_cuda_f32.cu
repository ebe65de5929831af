// The kernels of the loss pass in f32.
#include "kernels/cuda/loss_pass.cuh"

namespace blco::cuda {

template LossKernel<float, float> loss_kernel_for<float, float>(int, int, bool);

}  // namespace blco::cuda
