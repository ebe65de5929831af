// Chooses conflict resolution and launch shape: Nguyen et al., ICS 2022, section 5.3.
#pragma once

#include <cstdint>
#include <functional>

#include "kernels/cuda/mttkrp.hpp"
#include "kernels/device_kind.hpp"

namespace blco::cuda {

struct RowRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  // inclusive

  std::uint64_t count() const { return last - first + 1; }
};

// What the choice depends on, besides the device.
struct LaunchRequest {
  int order = 1;
  bool has_high_word = false;
  int tables = 11;                 // of index and key
  std::uint64_t frames = 0;        // of all chunks
  RowRange rows;                   // of the target mode, in these chunks
  std::uint64_t bytes_of_row = 8;  // of the output
  ConflictResolution conflict_resolution = ConflictResolution::automatic;
  int blocks_per_multiprocessor = 0;  // at most; 0: as many as fit
};

struct LaunchPlan {
  MttkrpShape shape;
  std::uint64_t stash_first = 0;
  std::uint32_t stash_rows = 0;  // 0: register-based
  unsigned blocks_per_multiprocessor = 1;
};

// How many blocks of a kernel a multiprocessor holds at once, as the runtime says.
using Occupancy = std::function<int(bool stashed, unsigned warps, std::size_t shared_bytes)>;

// Register-based unless hierarchical conflict resolution is requested: tests/sass counts twice the instructions for the
// stash, and tiles have merged most additions to a short mode before they reach memory. The stash holds as many of the
// rows, from the first on, as fit into shared memory next to the tiles; if none fit, the launch is register-based.
LaunchPlan plan_launch(const DeviceLimits& device, const LaunchRequest& request, const Occupancy& occupancy);

// The part of a multiprocessor's memory that is not L1 cache, in percent of the largest, rounded down: the least of the
// few sizes that holds a plan's blocks, with what the runtime reserves for each. The device takes the size at or above
// a percentage, and these are more than a percent apart.
inline constexpr std::uint64_t reserved_bytes_per_block = 1 << 10;
int shared_memory_percent(const DeviceLimits& device, const LaunchPlan& plan);

// Number of copies of a mode's output, the output included. More than one only if it has fewer rows than the
// device has multiprocessors, to which many blocks would add at once, or if hierarchical conflict resolution is
// requested; as many as `private_bytes` hold, up to max_copies. `output_bytes`: of all outputs that take copies.
inline constexpr int max_copies = 8;
bool takes_copies(const DeviceLimits& device, ConflictResolution conflict_resolution, std::uint64_t rows);
int copies_of_output(const DeviceLimits& device, ConflictResolution conflict_resolution, std::uint64_t rows,
                     std::uint64_t output_bytes, std::uint64_t private_bytes);

}  // namespace blco::cuda
