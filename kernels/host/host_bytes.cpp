// Memory of the CPU backend, computed before it is made.
#include <algorithm>

#include "kernels/backend_checks.hpp"
#include "kernels/host/chunk_pass.hpp"
#include "kernels/host/factor_matrix.hpp"
#include "kernels/host/fiber_tree.hpp"
#include "kernels/host/host_backend.hpp"
#include "kernels/host/host_dense.hpp"
#include "kernels/host/resident_chunks.hpp"
#include "kernels/host/sorted_tiles.hpp"

namespace blco {
namespace {

// Objects, layout tables, and bookkeeping of resident chunks.
constexpr std::uint64_t small_bytes = std::uint64_t{1} << 20;

template <class Sum, class Factor = Sum>
std::uint64_t backend_bytes(const BackendConfig& config, int threads) {
  const std::uint64_t longest = std::ranges::max(config.layout.shape());
  const auto rank = static_cast<std::uint64_t>(config.rank);
  std::uint64_t bytes = small_bytes + ChunkPass<Sum, Factor>::bytes(config, threads) +
                        DenseKernels::bytes(config.rank, longest, config.dual_modes != 0, threads);
  for (int mode = 0; mode < config.layout.order(); ++mode) {
    const std::uint64_t length = config.layout.mode(mode).length;
    std::uint64_t matrices = FactorMatrix<Factor, Sum>::bytes(length, config.rank);
    if (has_mode(config.dual_modes, mode)) matrices += RowMatrix<Factor, Sum>::bytes(length, config.rank);
    bytes += (config.keep_previous ? 2 : 1) * matrices + rank * rank * sizeof(double);
  }
  return bytes;
}

}  // namespace

bool host_backend_needs_exchange(const BackendConfig& config, int threads) {
  return config.private_bytes < host_backend_useful_private_bytes(config, threads);
}

std::uint64_t host_backend_bytes(const BackendConfig& config, int threads) {
  check_backend_config(config, "CPU");
  switch (config.precision) {
    case Precision::f32:
      return backend_bytes<float>(config, threads);
    case Precision::mixed:
      return backend_bytes<double, float>(config, threads);
    case Precision::f64:
      break;
  }
  return backend_bytes<double>(config, threads);
}

std::uint64_t host_backend_useful_private_bytes(const BackendConfig& config, int threads) {
  return config.precision == Precision::f32 ? ChunkPass<float, float>::useful_private_bytes(config, threads)
                                            : ChunkPass<double, double>::useful_private_bytes(config, threads);
}

std::uint64_t host_sorted_bytes(const BackendConfig& config, std::span<const std::uint64_t> nnzs, int threads) {
  if (nnzs.empty()) return 0;
  const auto order = static_cast<std::uint64_t>(config.layout.order());
  const bool sorts = can_sort(config);
  const bool keeps_trees = can_keep_trees(config, threads);
  std::uint64_t bytes = sorts ? sort_scratch_bytes(threads) : 0;
  if (keeps_trees) {
    bytes = std::max(bytes, fiber_scratch_bytes(config.layout.order(), std::ranges::max(nnzs), threads));
  }
  for (const std::uint64_t nnz : nnzs) {
    // A tree serves all modes but one.
    const std::uint64_t tree = keeps_trees ? most_fiber_tree_bytes(config, nnz) : 0;
    const std::uint64_t copy = sorts ? sorted_chunk_bytes(nnz) : 0;
    bytes += std::max(order * copy, tree + copy);
  }
  return bytes;
}

std::uint64_t host_decoded_bytes(const TensorLayout& layout, std::uint64_t nnz) {
  return ResidentChunks<double>::decoded_bytes(layout, nnz);
}

}  // namespace blco
