// The MTTKRP kernels in f64.
#include "kernels/cuda/mttkrp.cuh"

namespace blco::cuda {

template MttkrpKernel<double, double> mttkrp_kernel_for<double, double>(int, int, bool, KernelVariant);

}  // namespace blco::cuda
