// The MTTKRP kernels in f64.
#include "kernels/cuda/mttkrp.cuh"

namespace blco::cuda {

template void launch_mttkrp(const MttkrpArguments<double>&, const MttkrpShape&, cudaStream_t);

}  // namespace blco::cuda
