// The MTTKRP kernels, compiled once per precision.
#include "kernels/cuda/mttkrp.cuh"

namespace blco::cuda {

template MttkrpKernel<BLCO_SUM, BLCO_FACTOR> mttkrp_kernel_for<BLCO_SUM, BLCO_FACTOR>(int, int, bool, KernelVariant);

}  // namespace blco::cuda
