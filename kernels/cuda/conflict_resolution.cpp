#include "kernels/cuda/conflict_resolution.hpp"

#include <algorithm>
#include <iterator>

namespace blco::cuda {
namespace {

constexpr std::uint64_t max_stash_bytes = 64 << 10;
constexpr std::uint64_t min_warps = 4;

// KiB that shared memory takes of a multiprocessor's, up to the device's most: 164 of compute capability 8.0, 100 of
// 8.6, 8.9 and 12.0, 228 of 9.0 and 10.0 (CUDA C++ Programming Guide, compute capabilities).
constexpr std::uint64_t shared_sizes[] = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228};

bool few_rows(const DeviceLimits& device, std::uint64_t rows) {
  return rows < static_cast<std::uint64_t>(device.multiprocessors);
}

}  // namespace

LaunchPlan plan_launch(const DeviceLimits& device, const LaunchRequest& request, const Occupancy& occupancy) {
  const std::uint64_t tables = table_bytes(request.tables);
  const std::uint64_t tile = tile_bytes(request.order, request.has_high_word);

  LaunchPlan plan;
  if (request.conflict_resolution == ConflictResolution::hierarchical) {
    const std::uint64_t taken = tables + min_warps * tile;
    const std::uint64_t room =
        std::min(max_stash_bytes, device.shared_bytes_per_block - std::min(device.shared_bytes_per_block, taken));
    plan.stash_rows = static_cast<std::uint32_t>(std::min(request.rows.count(), room / request.bytes_of_row));
    plan.stash_first = request.rows.first;
  }
  const std::uint64_t stash = plan.stash_rows * request.bytes_of_row;

  // The largest block size, whose warps share tables and leave the cache more, unless a smaller one keeps a third more
  // warps of a multiprocessor busy.
  unsigned max_resident = 0;
  for (unsigned warps = 1; warps <= max_mttkrp_warps; ++warps) {
    const std::uint64_t bytes = tables + warps * tile + stash;
    if (bytes > device.shared_bytes_per_block && warps > 1) break;
    int fitting = std::max(1, occupancy(plan.stash_rows > 0, warps, static_cast<std::size_t>(bytes)));
    if (request.blocks_per_multiprocessor > 0) fitting = std::min(fitting, request.blocks_per_multiprocessor);
    const auto blocks = static_cast<unsigned>(fitting);
    if (4 * warps * blocks < 3 * max_resident) continue;
    max_resident = std::max(max_resident, warps * blocks);
    plan.blocks_per_multiprocessor = blocks;
    plan.shape.warps = warps;
    plan.shape.shared_bytes = static_cast<std::size_t>(bytes);
  }
  const std::uint64_t blocks =
      std::uint64_t{plan.blocks_per_multiprocessor} * static_cast<std::uint64_t>(device.multiprocessors);
  plan.shape.blocks =
      static_cast<unsigned>(std::min(blocks, (request.frames + plan.shape.warps - 1) / plan.shape.warps));
  return plan;
}

int shared_memory_percent(const DeviceLimits& device, const LaunchPlan& plan) {
  const std::uint64_t needed = plan.blocks_per_multiprocessor * (plan.shape.shared_bytes + reserved_bytes_per_block);
  const std::uint64_t all = device.shared_bytes_per_multiprocessor;
  const auto* const size = std::ranges::find_if(shared_sizes, [&](std::uint64_t kib) { return kib << 10 >= needed; });
  if (size == std::end(shared_sizes)) return 100;
  return static_cast<int>(std::min<std::uint64_t>(100 * (*size << 10) / all, 100));
}

bool takes_copies(const DeviceLimits& device, ConflictResolution conflict_resolution, std::uint64_t rows) {
  return conflict_resolution == ConflictResolution::hierarchical ||
         (conflict_resolution == ConflictResolution::automatic && few_rows(device, rows));
}

int copies_of_output(const DeviceLimits& device, ConflictResolution conflict_resolution, std::uint64_t rows,
                     std::uint64_t output_bytes, std::uint64_t private_bytes) {
  if (output_bytes == 0 || !takes_copies(device, conflict_resolution, rows)) return 1;
  return 1 + static_cast<int>(std::min<std::uint64_t>(max_copies - 1, private_bytes / output_bytes));
}

}  // namespace blco::cuda
