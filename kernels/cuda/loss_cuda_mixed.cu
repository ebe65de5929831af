// The kernels of the loss pass of f32 factors and f64 sums.
#include "kernels/cuda/loss_pass.cuh"

namespace blco::cuda {

template LossKernel<double, float> loss_kernel_for<double, float>(int, int, bool);

}  // namespace blco::cuda
