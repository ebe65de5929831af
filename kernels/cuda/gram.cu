// Gram matrices, for both precisions.
#include "kernels/cuda/gram.cuh"

namespace blco::cuda {

template void gram(const double*, std::uint64_t, int, double*, void*, cudaStream_t);
template void gram(const float*, std::uint64_t, int, double*, void*, cudaStream_t);

}  // namespace blco::cuda
