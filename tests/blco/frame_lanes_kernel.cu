// Proves that nvcc takes the lanes' decode as device code: one warp, one frame.
#include "blco/frame_lanes.hpp"

namespace blco {

__global__ void decode_one_frame(FrameLanes frame, FrameCoding coding, std::uint64_t* values) {
  __shared__ std::uint64_t scratch[frame_entries];
  const int lane = static_cast<int>(threadIdx.x);
  std::uint64_t fields[lane_entries];
  frame.unpack(lane, fields);
  for (int j = 0; j < lane_entries; ++j) scratch[frame_slot(lane * lane_entries + j)] = fields[j];
  __syncwarp();
  frame.patch(lane, scratch);
  __syncwarp();
  for (int j = 0; j < lane_entries; ++j) fields[j] = scratch[frame_slot(lane * lane_entries + j)];
  std::uint64_t before = 0;
  if (coding == FrameCoding::differences) {
    const std::uint64_t sum = FrameLanes::accumulate(fields);
    std::uint64_t scan = sum;
    for (int step = 1; step < warp_lanes; step *= 2) {
      const std::uint64_t below = __shfl_up_sync(0xffffffffu, scan, static_cast<unsigned>(step));
      if (lane >= step) scan += below;
    }
    before = scan - sum;
  }
  for (int j = 0; j < lane_entries; ++j) values[lane * lane_entries + j] = frame.first() + before + fields[j];
}

}  // namespace blco
