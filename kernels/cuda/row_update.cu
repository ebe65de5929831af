// Row updates and merges, for both precisions.
#include "kernels/cuda/row_update.cuh"

namespace blco::cuda {

template void solve_rows(const double*, std::uint64_t, int, const SolverView&, double*, double*, void*, cudaStream_t);
template void solve_rows(const float*, std::uint64_t, int, const SolverView&, float*, double*, void*, cudaStream_t);
template void normalise_columns(double*, std::uint64_t, int, const double*, cudaStream_t);
template void normalise_columns(float*, std::uint64_t, int, const double*, cudaStream_t);
template void merge_copies(double*, const double*, int, std::uint64_t, cudaStream_t);
template void merge_copies(float*, const float*, int, std::uint64_t, cudaStream_t);

}  // namespace blco::cuda
