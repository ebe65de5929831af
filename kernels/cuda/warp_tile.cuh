// A tile in shared memory: one frame of a chunk as a warp has it for itself.
#pragma once

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/mttkrp.hpp"

namespace blco::cuda {

constexpr unsigned all_lanes = 0xffffffffu;

// Tensors of orders 3 to 5 have kernels of their own at common ranks.
constexpr int any_order = 0;

// Entry j of a lane is entry lane * lane_entries + j of the frame.
template <class T>
using LaneEntries = T[lane_entries];

struct alignas(16) FourWords {
  std::uint32_t word[4];
};

// Shared memory of one warp. Positions 0 to 255 are those of entries in order; slots, those before.
struct WarpTile {
  std::byte* entries;      // by position: value, then the rows of all modes but the target; before: scratch
  std::uint64_t* keys;     // by slot: fields of the key; null for lines of up to 64 bits
  std::uint32_t* targets;  // by position; before: the histogram
  std::uint8_t* ends;      // bit p % 8 of byte p / 8: a segment ends at position p
};

__device__ inline WarpTile carve_tile(std::byte* memory, int order, bool has_key) {
  WarpTile tile;
  tile.entries = memory;
  memory += tile_entry_bytes(order) * (frame_entries + tile_gaps);
  tile.targets = reinterpret_cast<std::uint32_t*>(memory);
  memory += frame_entries * sizeof(std::uint32_t);
  tile.keys = has_key ? reinterpret_cast<std::uint64_t*>(memory) : nullptr;
  if (has_key) memory += frame_entries * sizeof(std::uint64_t);
  tile.ends = reinterpret_cast<std::uint8_t*>(memory);
  return tile;
}

// Where the entry of a position lies, counted in entries. Shares of 64 positions or more are followed by a gap each, so
// that groups of lanes read different banks.
template <int Share>
__device__ constexpr std::uint32_t place_of(std::uint32_t position) {
  return Share >= 64 ? position + position / Share : position;
}

// The place of a lane's entry j in slot order: slot j * warp_lanes + lane.
template <int Share>
__device__ constexpr std::uint32_t slot_place(int j, int lane) {
  static_assert(Share % warp_lanes == 0);
  return place_of<Share>(static_cast<std::uint32_t>(j * warp_lanes)) + static_cast<std::uint32_t>(lane);
}

// An entry of a tile as it lies there, to be read at once.
template <int Order>
struct alignas(Order % 4 == 3 ? 16 : 8) TileEntry {
  std::uint32_t word[tile_entry_bytes(Order) / 4];

  template <class Sum>
  __device__ Sum value() const {
    if constexpr (sizeof(Sum) == sizeof(double)) {
      return __hiloint2double(static_cast<int>(word[1]), static_cast<int>(word[0]));
    } else {
      return __uint_as_float(word[0]);
    }
  }
  __device__ std::uint32_t row(int k) const { return word[2 + k]; }
};

// Writes row 0 of every mode into the gaps, since groups of lanes read ahead of their shares. Nothing else is ever
// placed there, and scratch ends before the first gap.
template <int Share, int Order>
__device__ inline void clear_gaps(const WarpTile& tile, int lane) {
  constexpr int between = frame_entries / Share - 1;
  static_assert(Share * tile_entry_bytes(Order) >= frame_entries * static_cast<int>(sizeof(std::uint64_t)));
  if (lane >= tile_gaps) return;
  const int place = lane < between ? (lane + 1) * (Share + 1) - 1 : frame_entries + lane;
  reinterpret_cast<TileEntry<Order>*>(tile.entries)[place] = TileEntry<Order>{};
}

}  // namespace blco::cuda
