// Brings a tile into the order of a mode's rows, so that equal rows are adjacent. Nguyen et al., ICS 2022, section 5.1.
//
// A stable counting sort by the lowest eight bits of the row. Neighbours in line order agree in the high bits of every
// mode, so rows in one bucket are nearly always equal; where they are not, a row merely gets more segments. The order
// depends on the data alone.
#pragma once

#include <cub/warp/warp_scan.cuh>

#include "kernels/cuda/warp_tile.cuh"

namespace blco::cuda {

constexpr unsigned bucket_count = 256;

template <class Number>
__device__ inline Number exclusive_sum(Number own) {
  typename cub::WarpScan<Number>::TempStorage none;
  Number before;
  cub::WarpScan<Number>(none).ExclusiveSum(own, before);
  return before;
}

// The positions of the lane's eight entries, one byte each.
__device__ inline std::uint64_t sort_positions(const LaneEntries<std::uint32_t>& targets, int lane,
                                               std::uint32_t* histogram) {
  auto* quads = reinterpret_cast<FourWords*>(histogram);
  quads[lane] = quads[lane + warp_lanes] = FourWords{};
  __syncwarp();
  const unsigned lower_lanes = (1u << lane) - 1;
  std::uint64_t positions = 0;  // at first within buckets
#pragma unroll
  for (int j = 0; j < lane_entries; ++j) {
    const unsigned bucket = targets[j] % bucket_count;
    const unsigned peers = __match_any_sync(all_lanes, bucket);
    const auto before = static_cast<std::uint32_t>(__popc(peers & lower_lanes));
    const std::uint32_t earlier = histogram[bucket];
    __syncwarp();
    if (before == 0) histogram[bucket] = earlier + static_cast<std::uint32_t>(__popc(peers));
    __syncwarp();
    positions |= static_cast<std::uint64_t>(earlier + before) << (8 * j);
  }

  // A lane scans four buckets of the lower half and four of the upper; sums of the halves share a word.
  FourWords lower = quads[lane];
  FourWords upper = quads[lane + warp_lanes];
  const std::uint32_t own = lower.word[0] + lower.word[1] + lower.word[2] + lower.word[3] +
                            ((upper.word[0] + upper.word[1] + upper.word[2] + upper.word[3]) << 16);
  const std::uint32_t start = exclusive_sum(own);
  std::uint32_t at_lower = start & 0xffff;
  std::uint32_t at_upper = (start >> 16) + (__shfl_sync(all_lanes, start + own, warp_lanes - 1) & 0xffff);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t begin_lower = at_lower;
    const std::uint32_t begin_upper = at_upper;
    at_lower += lower.word[i];
    at_upper += upper.word[i];
    lower.word[i] = begin_lower;
    upper.word[i] = begin_upper;
  }
  quads[lane] = lower;
  quads[lane + warp_lanes] = upper;
  __syncwarp();

#pragma unroll
  for (int j = 0; j < lane_entries; ++j) {
    positions += static_cast<std::uint64_t>(histogram[targets[j] % bucket_count]) << (8 * j);
  }
  __syncwarp();
  return positions;
}

__device__ inline std::uint32_t position_of(std::uint64_t positions, int j) {
  return static_cast<std::uint32_t>(positions >> (8 * j)) & 255;
}

// Marks the last position of each segment. A segment ends at the latest with its share of the tile.
template <int Share>
__device__ inline void mark_ends(const WarpTile& tile, int lane) {
  const auto* quads = reinterpret_cast<const FourWords*>(tile.targets) + 2 * lane;
  const FourWords lower = quads[0];
  const FourWords upper = quads[1];
  const std::uint32_t next = __shfl_down_sync(all_lanes, lower.word[0], 1);
  unsigned ends = 0;
#pragma unroll
  for (int j = 0; j < 3; ++j) {
    ends |= lower.word[j] != lower.word[j + 1] ? 1u << j : 0;
    ends |= upper.word[j] != upper.word[j + 1] ? 16u << j : 0;
  }
  ends |= lower.word[3] != upper.word[0] ? 8u : 0;
  ends |= (lane + 1) * lane_entries % Share == 0 || upper.word[3] != next ? 128u : 0;
  tile.ends[lane] = static_cast<std::uint8_t>(ends);
}

// Reorders a tile, which has the rows of mode `from` for targets, by those of mode `to`, which is not smaller. All
// lanes read and write any entry, so that the tile must be theirs before, and is ready for them behind it.
template <int Share>
__device__ inline void reorder_tile(const WarpTile& tile, int order, int from, int to, int lane) {
  const auto bytes_of_entry = static_cast<unsigned>(tile_entry_bytes(order));
  const auto own = [&](int j) { return tile.entries + slot_place<Share>(j, lane) * bytes_of_entry; };
  LaneEntries<std::uint32_t> targets;
#pragma unroll
  for (int j = 0; j < lane_entries; ++j) targets[j] = tile.targets[j * warp_lanes + lane];
  for (int mode = from; mode < to; ++mode) {  // the target changes places with the next mode's row
#pragma unroll
    for (int j = 0; j < lane_entries; ++j) {
      auto* row = reinterpret_cast<std::uint32_t*>(own(j) + 8 + 4 * mode);
      const std::uint32_t next = *row;
      *row = targets[j];
      targets[j] = next;
    }
  }
  __syncwarp();
  const std::uint64_t positions = sort_positions(targets, lane, tile.targets);
  LaneEntries<std::uint32_t> at;
#pragma unroll
  for (int j = 0; j < lane_entries; ++j) {
    tile.targets[position_of(positions, j)] = targets[j];
    at[j] = place_of<Share>(position_of(positions, j)) * bytes_of_entry;
  }
  for (unsigned word = 0; word < bytes_of_entry; word += sizeof(std::uint64_t)) {
    LaneEntries<std::uint64_t> words;
#pragma unroll
    for (int j = 0; j < lane_entries; ++j) words[j] = *reinterpret_cast<const std::uint64_t*>(own(j) + word);
    __syncwarp();
#pragma unroll
    for (int j = 0; j < lane_entries; ++j) *reinterpret_cast<std::uint64_t*>(tile.entries + at[j] + word) = words[j];
  }
  __syncwarp();
  mark_ends<Share>(tile, lane);
  __syncwarp();
}

}  // namespace blco::cuda
