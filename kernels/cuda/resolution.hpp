// Which resolution a chunk takes, and the shape of its launch: Nguyen et al., ICS 2022, section 5.3.
#pragma once

#include <cstdint>

#include "kernels/cuda/mttkrp.hpp"
#include "kernels/cuda_backend.hpp"

namespace blco::cuda {

struct RowRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  // inclusive

  std::uint64_t count() const { return last - first + 1; }
};

// What the choice depends on beside the device.
struct LaunchRequest {
  int order = 1;
  bool has_key = false;
  int index_bytes = 8;
  std::uint64_t nnz = 0;
  RowRange rows;                   // of the target mode, in this chunk
  std::uint64_t bytes_of_row = 8;  // of the output
  Resolution resolution = Resolution::automatic;
};

struct LaunchPlan {
  MttkrpShape shape;
  std::uint64_t stash_first = 0;
  std::uint32_t stash_rows = 0;  // 0: register-based
};

// Hierarchical where the chunk has fewer target rows than the device has multiprocessors, so that many blocks would add
// to the same rows of global memory. The stash holds as many of the chunk's rows, from the first on, as shared memory
// has room for beside the tiles; if that is none, the chunk is register-based.
LaunchPlan plan_launch(const DeviceLimits& device, const LaunchRequest& request);

// Copies of the output of a mode, the output included: more than one only where the mode itself is short (or
// hierarchical resolution is asked for), and as many as `private_bytes` hold, up to max_copies.
inline constexpr int max_copies = 8;
int copies_of_output(const DeviceLimits& device, Resolution resolution, std::uint64_t mode_length,
                     std::uint64_t output_bytes, std::uint64_t private_bytes);

}  // namespace blco::cuda
