// A GPU as a plan sees it, and the device memory of the CUDA backend: arithmetic that plans need even without CUDA.
#include <algorithm>

#include "kernels/cuda/cuda_backend.hpp"
#include "kernels/cuda/device_sizes.hpp"

namespace blco {
namespace {

// cudaMalloc takes device memory in pages of this size: of the last page of a buffer the rest may be lost.
constexpr std::uint64_t device_page_bytes = std::uint64_t{2} << 20;
// Tables of lines, fault record.
constexpr std::uint64_t table_and_flag_bytes = std::uint64_t{64} << 10;
constexpr std::uint64_t max_useful_copies = 7;
// Pinned staging of dense transfers, and a row update's numbers on the host.
constexpr std::uint64_t staging_bytes = std::uint64_t{2} << 20;

// A whole page more, not the next multiple: so plans go by the sizes of a job's buffers, however small these are.
std::uint64_t with_lost(std::uint64_t buffer_bytes) { return buffer_bytes + device_page_bytes; }

std::uint64_t factor_bytes(const BackendConfig& config, int mode) {
  return config.rows_of(mode) * static_cast<std::uint64_t>(config.columns_of(mode)) *
         factor_number_bytes(config.precision);
}

std::uint64_t output_bytes(const BackendConfig& config, int mode) {
  return config.rows_of(mode) * config.output_columns_of(mode) * output_number_bytes(config.precision);
}

class GpuKind final : public DeviceKind {
 public:
  explicit GpuKind(const DeviceLimits& limits) : limits_(limits) {}

  const DeviceLimits* gpu() const override { return &limits_; }
  // On the host: staging, the Gram matrices with what a row update sends and receives, and vectors.
  Footprint footprint(const BackendConfig& config, int) const override {
    const std::uint64_t matrices = static_cast<std::uint64_t>(config.layout.order()) + 2;
    const auto rank = static_cast<std::uint64_t>(config.rank);
    Account host;
    host.take("blocks of rows on their way", staging_bytes);
    host.take_by_rank("systems of R x R numbers", matrices * rank * rank * sizeof(double));
    for (std::size_t v = config.device_vectors; v < config.vectors.size(); ++v) {
      host.take_by_rank(config.vectors[v].name, config.vectors[v].rows * rank * sizeof(double));
    }
    return {host, cuda_backend_memory(config, limits_)};
  }
  std::uint64_t useful_private_bytes(const BackendConfig& config, int) const override {
    return cuda_backend_useful_private_bytes(config, limits_);
  }
  std::uint64_t chunk_bytes(const BackendConfig&, std::uint64_t, std::uint64_t payload_bytes) const override {
    return cuda_chunk_bytes(payload_bytes);
  }
  std::uint64_t arranged_bytes(const BackendConfig&, std::span<const std::uint64_t>, int) const override { return 0; }
  std::unique_ptr<Backend> make(const BackendConfig& config, Executor&) const override {
    return make_cuda_backend(config, limits_);
  }

 private:
  DeviceLimits limits_;
};

}  // namespace

Account cuda_backend_memory(const BackendConfig& config, const DeviceLimits& limits) {
  const Precision precision = config.precision;
  const std::uint64_t longest = std::ranges::max(config.rows());
  Account memory;
  memory.take("the library", with_lost(table_and_flag_bytes) + with_lost(0));  // the other is of chunks that stay
  std::uint64_t outputs = 0;
  for (int mode = 0; mode < config.layout.order(); ++mode) {
    const std::uint64_t matrices = (config.keep_previous ? 2 : 1) * with_lost(factor_bytes(config, mode));
    memory.take_by_rank("factors", matrices);
    if (has_mode(config.dual_modes, mode)) memory.take_by_rank(duals_term, matrices);
    const std::uint64_t output = with_lost(output_bytes(config, mode));
    if (!config.holds_all(mode)) {
      memory.take("held rows", with_lost(config.held[static_cast<std::size_t>(mode)]->words().size_bytes()));
    }
    outputs = config.all_outputs ? outputs + output : std::max(outputs, output);
  }
  memory.take_by_rank(output_term, outputs);
  for (std::size_t v = 0; v < std::min(config.device_vectors, config.vectors.size()); ++v) {
    const VectorShape& vector = config.vectors[v];
    memory.take_by_rank(vector.name, with_lost(vector.rows * static_cast<std::uint64_t>(config.rank) * sizeof(double)));
  }
  memory.take("copies of the output", with_lost(config.private_bytes));
  memory.take("sums of loss passes", with_lost(cuda::term_bytes(config.slots, limits.multiprocessors)));
  const cuda::DenseSizes dense(longest, config.rank, output_number_bytes(precision), factor_number_bytes(precision),
                               config.dual_modes != 0);
  memory.take_by_rank("row updates", with_lost(dense.bytes));
  memory.take("chunks on their way", static_cast<std::uint64_t>(config.slots) * with_lost(config.slot_bytes));
  return memory;
}

std::uint64_t cuda_backend_useful_private_bytes(const BackendConfig& config, const DeviceLimits& limits) {
  std::uint64_t bytes = 0;  // of the largest output that takes copies; of all of these where they are there at once
  for (int mode = 0; mode < config.layout.order(); ++mode) {
    const bool is_short = config.rows_of(mode) < static_cast<std::uint64_t>(limits.multiprocessors);
    if (!is_short && config.gpu.conflict_resolution != ConflictResolution::hierarchical) continue;
    const std::uint64_t output = output_bytes(config, mode);
    bytes = config.all_outputs ? bytes + output : std::max(bytes, output);
  }
  if (config.gpu.conflict_resolution == ConflictResolution::register_based) return 0;
  return max_useful_copies * bytes;
}

std::uint64_t cuda_chunk_bytes(std::uint64_t payload_bytes) { return payload_slot_bytes(payload_bytes); }

std::unique_ptr<DeviceKind> gpu_kind(const DeviceLimits& limits) { return std::make_unique<GpuKind>(limits); }

}  // namespace blco
