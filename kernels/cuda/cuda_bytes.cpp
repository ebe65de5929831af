// Device memory of the CUDA backend: arithmetic that plans need even without CUDA.
#include <algorithm>

#include "kernels/cuda/cuda_backend.hpp"
#include "kernels/cuda/device_sizes.hpp"

namespace blco {
namespace {

// cudaMalloc hands out multiples of this.
constexpr std::uint64_t device_granule = 512;
// Tables of lines, fault record, and the runtime's rounding of small allocations.
constexpr std::uint64_t table_and_flag_bytes = std::uint64_t{64} << 10;
constexpr std::uint64_t max_useful_copies = 7;

std::uint64_t granules(std::uint64_t bytes) { return (bytes + device_granule - 1) / device_granule * device_granule; }

std::uint64_t factor_row_bytes(const BackendConfig& config) {
  return static_cast<std::uint64_t>(config.rank) * factor_number_bytes(config.precision);
}

std::uint64_t output_row_bytes(const BackendConfig& config) {
  return static_cast<std::uint64_t>(config.rank) * output_number_bytes(config.precision);
}

}  // namespace

std::uint64_t cuda_backend_bytes(const BackendConfig& config, const DeviceLimits& limits) {
  const auto& shape = config.layout.shape();
  const Precision precision = config.precision;
  const std::uint64_t longest = std::ranges::max(shape);
  std::uint64_t bytes = table_and_flag_bytes;
  for (int mode = 0; mode < config.layout.order(); ++mode) {
    const std::uint64_t matrices = (config.keep_previous ? 2 : 1) * (has_mode(config.dual_modes, mode) ? 2 : 1);
    bytes += matrices * granules(config.layout.mode(mode).length * factor_row_bytes(config));
  }
  if (config.all_outputs) {
    for (const std::uint64_t length : shape) bytes += granules(length * output_row_bytes(config));
  } else {
    bytes += granules(longest * output_row_bytes(config));
  }
  for (std::size_t v = 0; v < std::min(config.device_vectors, config.vectors.size()); ++v) {
    bytes += granules(config.vectors[v].rows * static_cast<std::uint64_t>(config.rank) * sizeof(double));
  }
  bytes += granules(config.private_bytes);
  bytes += granules(cuda::term_bytes(config.slots, limits.multiprocessors));
  bytes += granules(cuda::DenseSizes(longest, config.rank, output_number_bytes(precision),
                                     factor_number_bytes(precision), config.dual_modes != 0)
                        .bytes);
  return bytes + static_cast<std::uint64_t>(config.slots) * granules(config.slot_bytes);
}

std::uint64_t cuda_backend_useful_private_bytes(const BackendConfig& config, const DeviceLimits& limits) {
  std::uint64_t rows = 0;  // of the longest mode that takes copies; of all of these where they have outputs at once
  for (const std::uint64_t length : config.layout.shape()) {
    const bool is_short = length < static_cast<std::uint64_t>(limits.multiprocessors);
    if (!is_short && config.gpu.conflict_resolution != ConflictResolution::hierarchical) continue;
    rows = config.all_outputs ? rows + length : std::max(rows, length);
  }
  if (config.gpu.conflict_resolution == ConflictResolution::register_based) return 0;
  return max_useful_copies * rows * output_row_bytes(config);
}

std::uint64_t cuda_chunk_bytes(std::uint64_t payload_bytes) { return payload_slot_bytes(payload_bytes); }

}  // namespace blco
