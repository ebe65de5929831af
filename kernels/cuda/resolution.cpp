#include "kernels/cuda/resolution.hpp"

#include <algorithm>

namespace blco::cuda {
namespace {

constexpr std::uint64_t max_stash_bytes = 64 << 10;
// The runtime's own share of a block's shared memory.
constexpr std::uint64_t reserved_bytes_per_block = 1 << 10;
constexpr std::uint64_t min_warps = 4;

bool few_rows(const DeviceLimits& device, std::uint64_t rows) {
  return rows < static_cast<std::uint64_t>(device.multiprocessors);
}

// Limited by shared memory and by registers.
std::uint64_t blocks_per_multiprocessor(const DeviceLimits& device, std::uint64_t warps, std::uint64_t block_bytes) {
  const std::uint64_t fitting = device.shared_bytes_per_multiprocessor / (block_bytes + reserved_bytes_per_block);
  return std::clamp<std::uint64_t>(fitting, 1, max_resident_mttkrp_warps / warps);
}

}  // namespace

LaunchPlan plan_launch(const DeviceLimits& device, const LaunchRequest& request) {
  const std::uint64_t tables = table_bytes(request.index_bytes);
  const std::uint64_t tile = tile_bytes(request.order, request.has_key);

  LaunchPlan plan;
  const bool hierarchical = request.resolution == Resolution::hierarchical ||
                            (request.resolution == Resolution::automatic && few_rows(device, request.rows.count()));
  if (hierarchical) {
    const std::uint64_t taken = tables + min_warps * tile;
    const std::uint64_t room =
        std::min(max_stash_bytes, device.shared_bytes_per_block - std::min(device.shared_bytes_per_block, taken));
    plan.stash_rows = static_cast<std::uint32_t>(std::min(request.rows.count(), room / request.bytes_of_row));
    plan.stash_first = request.rows.first;
  }
  const std::uint64_t stash = plan.stash_rows * request.bytes_of_row;

  // The block size that keeps most warps of a multiprocessor busy; among equals, the largest, whose warps share tables.
  std::uint64_t max_resident = 0;
  std::uint64_t blocks = 1;
  for (std::uint64_t warps = 1; warps <= max_mttkrp_warps; warps *= 2) {
    const std::uint64_t bytes = tables + warps * tile + stash;
    if (bytes > device.shared_bytes_per_block && warps > 1) break;
    const std::uint64_t resident_blocks = blocks_per_multiprocessor(device, warps, bytes);
    if (warps * resident_blocks < max_resident) continue;
    max_resident = warps * resident_blocks;
    blocks = resident_blocks * static_cast<std::uint64_t>(device.multiprocessors);
    plan.shape.warps = static_cast<unsigned>(warps);
    plan.shape.shared_bytes = static_cast<std::size_t>(bytes);
  }
  const std::uint64_t frames = (request.nnz + frame_entries - 1) / frame_entries;
  plan.shape.blocks = static_cast<unsigned>(std::min(blocks, (frames + plan.shape.warps - 1) / plan.shape.warps));
  return plan;
}

int copies_of_output(const DeviceLimits& device, Resolution resolution, std::uint64_t mode_length,
                     std::uint64_t output_bytes, std::uint64_t private_bytes) {
  if (resolution == Resolution::register_based) return 1;
  if (resolution == Resolution::automatic && !few_rows(device, mode_length)) return 1;
  return 1 + static_cast<int>(std::min<std::uint64_t>(max_copies - 1, private_bytes / output_bytes));
}

}  // namespace blco::cuda
