// The MTTKRP kernels in f32.
#include "kernels/cuda/mttkrp.cuh"

namespace blco::cuda {

template void launch_mttkrp(const MttkrpArguments<float>&, const MttkrpShape&, cudaStream_t);

}  // namespace blco::cuda
