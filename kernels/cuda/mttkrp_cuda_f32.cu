// The MTTKRP kernels in f32.
#include "kernels/cuda/mttkrp.cuh"

namespace blco::cuda {

template MttkrpKernel<float, float> mttkrp_kernel_for<float, float>(int, int, bool, KernelVariant);

}  // namespace blco::cuda
