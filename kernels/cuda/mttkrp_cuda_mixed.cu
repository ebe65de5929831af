// The MTTKRP kernels of f32 factors and f64 sums.
#include "kernels/cuda/mttkrp.cuh"

namespace blco::cuda {

template MttkrpKernel<double, float> mttkrp_kernel_for<double, float>(int, int, bool, KernelVariant);

}  // namespace blco::cuda
