// A tile: one frame of a chunk, decoded by a warp into shared memory and reordered so that equal target rows are
// adjacent. Nguyen et al., ICS 2022, section 5.1: the processing phase.
//
// Reordering is a stable counting sort by the lowest eight bits of the row. Neighbours in line order agree in the high
// bits of every mode, so rows in one bucket are nearly always equal; where they are not, a row merely gets more
// segments. The order depends on the data alone.
#pragma once

#include "blco/frame_lanes.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/mttkrp.hpp"

namespace blco::cuda {

constexpr unsigned all_lanes = 0xffffffffu;
constexpr unsigned bucket_count = 256;
constexpr int flag_words = frame_entries / warp_lanes;

// Shared memory of one warp. Positions 0 to 255 are places after reordering.
struct WarpTile {
  std::uint64_t* low;   // by slot: line indices, then BLCO indices; finally values by position
  std::uint64_t* key;   // by slot; null for lines of up to 64 bits
  std::uint32_t* rows;  // row of mode m at position p: rows[m * 256 + p]; the target mode's serve as histogram
  std::uint32_t* ends;  // bit p % 32 of word p / 32: a segment ends at position p
};

__device__ inline WarpTile carve_tile(std::byte* memory, int order, bool has_key) {
  WarpTile tile;
  tile.low = reinterpret_cast<std::uint64_t*>(memory);
  tile.key = has_key ? tile.low + frame_entries : nullptr;
  tile.rows = reinterpret_cast<std::uint32_t*>(tile.low + (has_key ? 2 : 1) * frame_entries);
  tile.ends = tile.rows + order * frame_entries;
  return tile;
}

template <class Number>
__device__ inline Number exclusive_scan(Number own, int lane) {
  Number sum = own;
  for (int step = 1; step < warp_lanes; step *= 2) {
    const Number below = __shfl_up_sync(all_lanes, sum, static_cast<unsigned>(step));
    if (lane >= step) sum += below;
  }
  return sum - own;
}

// Writes the 256 values of a frame to `slots`; lane l owns entries 8 l to 8 l + 7, at frame_slot(entry).
__device__ inline void decode_column(const PayloadView& payload, std::uint64_t frame, FrameCoding coding, int lane,
                                     std::uint64_t* slots) {
  const FrameEntry entry = payload.entry(frame);
  const FrameLanes lanes{payload.bytes + 8 * static_cast<std::uint64_t>(entry.offset),
                         unpack_descriptor(entry.descriptor), coding, payload.base};
  lanes.unpack(lane, slots);
  __syncwarp();
  lanes.patch(lane, slots);
  __syncwarp();
  const std::uint64_t before =
      coding == FrameCoding::differences ? exclusive_scan(lanes.lane_sum(lane, slots), lane) : 0;
  lanes.finish(lane, before, slots);
}

// Re-encodes a line index by one table look-up per byte.
__device__ inline std::uint64_t blco_index(const std::uint64_t* byte_tables, int bytes, std::uint64_t line) {
  std::uint64_t index = 0;
  for (int byte = 0; byte < bytes; ++byte) index |= byte_tables[256 * byte + ((line >> (8 * byte)) & 255)];
  return index;
}

__device__ inline std::uint64_t gather_bits(std::uint64_t from, std::uint64_t mask) {
  std::uint64_t gathered = 0;
  for (int at = 0; mask != 0; ++at, mask &= mask - 1) {
    const int bit = __ffsll(static_cast<long long>(mask)) - 1;
    gathered |= (from >> bit & 1) << at;
  }
  return gathered;
}

// The row of the entry at `slot` in one mode. A row outside the mode is recorded and replaced by 0; the pass fails
// later.
template <class Real>
__device__ inline std::uint32_t row_of(const MttkrpArguments<Real>& arguments, const WarpTile& tile, int slot,
                                       int mode) {
  const CoordinateBits& bits = arguments.coordinates[mode];
  std::uint64_t row = tile.low[slot] >> bits.shift & bits.field;
  if (tile.key != nullptr && bits.key_mask != 0) row |= gather_bits(tile.key[slot], bits.key_mask) << bits.low_bits;
  if (row < bits.length) return static_cast<std::uint32_t>(row);
  atomicCAS(arguments.fault, FaultRecord{0}, (FaultRecord{arguments.chunk} + 1) << 8 | static_cast<unsigned>(mode));
  return 0;
}

// The histogram word of a bucket: lane l scans buckets 8 l to 8 l + 7, without bank conflicts.
__device__ inline int bucket_slot(std::uint32_t row) { return frame_slot(static_cast<int>(row % bucket_count)); }

// The positions of the lane's eight entries, one byte each. Entries from `count` on come last.
__device__ inline std::uint64_t sort_positions(const std::uint32_t (&targets)[lane_entries], int count, int lane,
                                               std::uint32_t* histogram) {
  for (int j = 0; j < lane_entries; ++j) histogram[j * warp_lanes + lane] = 0;
  __syncwarp();
  std::uint64_t ranks = 0;
#pragma unroll
  for (int j = 0; j < lane_entries; ++j) {
    const bool counts = lane * lane_entries + j < count;
    const unsigned peers = __match_any_sync(all_lanes, counts ? targets[j] % bucket_count : bucket_count);
    const auto before = static_cast<std::uint32_t>(__popc(peers & ((1u << lane) - 1)));
    const std::uint32_t earlier = counts ? histogram[bucket_slot(targets[j])] : 0;
    __syncwarp();
    if (counts && before == 0) histogram[bucket_slot(targets[j])] = earlier + static_cast<std::uint32_t>(__popc(peers));
    __syncwarp();
    ranks |= static_cast<std::uint64_t>(earlier + before) << (8 * j);
  }

  std::uint32_t own = 0;
  for (int j = 0; j < lane_entries; ++j) own += histogram[j * warp_lanes + lane];
  std::uint32_t start = exclusive_scan(own, lane);
  for (int j = 0; j < lane_entries; ++j) {
    std::uint32_t& bucket = histogram[j * warp_lanes + lane];
    const std::uint32_t length = bucket;
    bucket = start;
    start += length;
  }
  __syncwarp();

  std::uint64_t positions = 0;
#pragma unroll
  for (int j = 0; j < lane_entries; ++j) {
    const int entry = lane * lane_entries + j;
    // Entries past the count keep their places; they are not in the histogram.
    const std::uint64_t position = entry < count ? histogram[bucket_slot(targets[j])] + (ranks >> (8 * j) & 255)
                                                 : static_cast<std::uint64_t>(entry);
    positions |= position << (8 * j);
  }
  __syncwarp();
  return positions;
}

__device__ inline int position_of(std::uint64_t positions, int j) {
  return static_cast<int>(positions >> (8 * j) & 255);
}

// Powers of ten up to the largest decimal exponent, exact.
__device__ inline double power_of_ten(int exponent) {
  double power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

// Replaces tile.low by the values, by position. Values past the count are zero.
template <class Real>
__device__ inline void place_values(const PayloadView& payload, std::uint64_t frame, int count, std::uint64_t positions,
                                    int lane, const WarpTile& tile) {
  double values[lane_entries];
  const bool packed = payload.bytes != nullptr && (payload.codec == Codec::integer || payload.codec == Codec::decimal);
  if (packed) decode_column(payload, frame, FrameCoding::plain, lane, tile.low);
  const double scale = packed ? power_of_ten(payload.exponent) : 1;
#pragma unroll
  for (int j = 0; j < lane_entries; ++j) {
    const int entry = lane * lane_entries + j;
    const std::uint64_t at = frame * frame_entries + static_cast<std::uint64_t>(entry);
    if (entry >= count) {
      values[j] = 0;
    } else if (payload.bytes == nullptr) {
      values[j] = 1;
    } else if (packed) {
      values[j] = static_cast<double>(static_cast<std::int64_t>(tile.low[frame_slot(entry)]));
      if (payload.codec == Codec::decimal) values[j] /= scale;
    } else if (payload.codec == Codec::f32) {
      values[j] = static_cast<double>(reinterpret_cast<const float*>(payload.raw())[at]);
    } else {
      values[j] = reinterpret_cast<const double*>(payload.raw())[at];
    }
  }
  __syncwarp();
  Real* placed = reinterpret_cast<Real*>(tile.low);
#pragma unroll
  for (int j = 0; j < lane_entries; ++j) placed[position_of(positions, j)] = static_cast<Real>(values[j]);
}

// Decodes and reorders frame `frame`; returns its number of entries. A segment ends at the latest with each `share`
// entries, which one group of lanes adds. On return, rows, values and segment ends are ready
// for all lanes.
template <class Real>
__device__ inline int prepare_tile(const MttkrpArguments<Real>& arguments, const std::uint64_t* byte_tables,
                                   const WarpTile& tile, std::uint64_t frame, int lane, int share) {
  const std::uint64_t left = arguments.nnz - frame * frame_entries;
  const int count = left < frame_entries ? static_cast<int>(left) : frame_entries;
  decode_column(arguments.index, frame, FrameCoding::differences, lane, tile.low);
  if (tile.key != nullptr) decode_column(arguments.key, frame, FrameCoding::differences, lane, tile.key);

  std::uint32_t targets[lane_entries];
#pragma unroll
  for (int j = 0; j < lane_entries; ++j) {
    const int entry = lane * lane_entries + j;
    const int slot = frame_slot(entry);
    tile.low[slot] = blco_index(byte_tables, arguments.index_bytes, tile.low[slot]);
    targets[j] = entry < count ? row_of(arguments, tile, slot, arguments.mode) : 0;
  }
  std::uint32_t* target_rows = tile.rows + arguments.mode * frame_entries;
  const std::uint64_t positions = sort_positions(targets, count, lane, target_rows);

  for (int mode = 0; mode < arguments.order; ++mode) {
    std::uint32_t* rows = tile.rows + mode * frame_entries;
#pragma unroll
    for (int j = 0; j < lane_entries; ++j) {
      const int entry = lane * lane_entries + j;
      std::uint32_t row = targets[j];
      if (mode != arguments.mode) row = entry < count ? row_of(arguments, tile, frame_slot(entry), mode) : 0;
      rows[position_of(positions, j)] = row;
    }
  }
  place_values<Real>(arguments.value, frame, count, positions, lane, tile);
  __syncwarp();

  for (int word = 0; word < flag_words; ++word) {
    const int at = word * warp_lanes + lane;
    const bool ends = at + 1 >= count || (at + 1) % share == 0 || target_rows[at] != target_rows[at + 1];
    const unsigned flags = __ballot_sync(all_lanes, ends && at < count);
    if (lane == 0) tile.ends[word] = flags;
  }
  __syncwarp();
  return count;
}

}  // namespace blco::cuda
