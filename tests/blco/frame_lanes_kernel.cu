// Proves that nvcc takes the lanes' decode as device code: one warp, one frame.
#include "blco/frame_lanes.hpp"

namespace blco {

__global__ void decode_one_frame(FrameLanes frame, std::uint64_t* values) {
  __shared__ std::uint64_t scratch[frame_entries];
  const int lane = static_cast<int>(threadIdx.x);
  frame.unpack(lane, scratch);
  __syncwarp();
  frame.patch(lane, scratch);
  __syncwarp();
  const std::uint64_t sum = frame.lane_sum(lane, scratch);
  std::uint64_t scan = sum;
  for (int step = 1; step < warp_lanes; step *= 2) {
    const std::uint64_t below = __shfl_up_sync(0xffffffffu, scan, static_cast<unsigned>(step));
    if (lane >= step) scan += below;
  }
  __syncwarp();
  frame.finish(lane, scan - sum, scratch);
  __syncwarp();
  for (int entry = lane; entry < frame_entries; entry += warp_lanes) values[entry] = scratch[frame_slot(entry)];
}

}  // namespace blco
