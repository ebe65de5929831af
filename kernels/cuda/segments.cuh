// How a warp adds a tile to an output: groups of lanes run along the rank, each over its share of the tile, and add in
// registers while the row stays the same. At the end of a segment, register-based conflict resolution adds to global
// memory; hierarchical conflict resolution adds to a stash in shared memory, which the block finally adds to one of
// several copies of the output. Orders 3 to 5 have a loop of their own at common ranks. Nguyen et al., ICS 2022,
// section 5.
#pragma once

#include <vector_types.h>

#include <type_traits>

#include "kernels/cuda/tile.cuh"

namespace blco::cuda {

// Entries of a tile that each group of `lanes` lanes adds.
BLCO_HOST_DEVICE constexpr int group_share(int lanes) { return frame_entries * lanes / warp_lanes; }

// Groups of a block's warps that start in turns.
constexpr unsigned turns = 4;

constexpr int mttkrp_threads = static_cast<int>(max_mttkrp_warps) * warp_lanes;
constexpr int mttkrp_blocks_per_multiprocessor = static_cast<int>(max_resident_mttkrp_warps / max_mttkrp_warps);

// The first number of a row. In bytes, so that one instruction multiplies and adds.
template <class Number>
__device__ inline Number* number_at(Number* matrix, std::uint32_t row, int rank) {
  using Byte = std::conditional_t<std::is_const_v<Number>, const std::byte, std::byte>;
  return reinterpret_cast<Number*>(reinterpret_cast<Byte*>(matrix) +
                                   std::uint64_t{row} * (static_cast<unsigned>(rank) * unsigned{sizeof(Number)}));
}

// Numbers of a factor row that a lane reads at once.
template <class Factor>
constexpr int vector_width = 16 / sizeof(Factor);

__device__ inline void load_vector(const double* from, double (&numbers)[2]) {
  const double2 found = __ldg(reinterpret_cast<const double2*>(from));
  numbers[0] = found.x;
  numbers[1] = found.y;
}

__device__ inline void load_vector(const float* from, float (&numbers)[4]) {
  const float4 found = __ldg(reinterpret_cast<const float4*>(from));
  numbers[0] = found.x;
  numbers[1] = found.y;
  numbers[2] = found.z;
  numbers[3] = found.w;
}

// Destination of a segment's sums. `copy` and `stash` start at the column from which others are counted.
template <class Sum, bool Stashed>
struct SegmentSink {
  Sum* copy;   // of the output, in global memory
  Sum* stash;  // stash_rows x rank, in shared memory
  std::uint64_t stash_first;
  std::uint32_t stash_rows;

  __device__ SegmentSink from_column(int column) const {
    return {copy + column, stash + column, stash_first, stash_rows};
  }

  __device__ void add(std::uint32_t row, int column, int rank, Sum sum) const {
    if constexpr (Stashed) {
      const std::uint64_t place = row - stash_first;  // wraps around if row < stash_first
      if (place < stash_rows) {
        atomicAdd(stash + place * static_cast<std::uint64_t>(rank) + column, sum);
        return;
      }
    }
    atomicAdd(number_at(copy, row, rank) + column, sum);
  }
};

// How a kernel processes a tile. Of orders 3 to 5, `Slots` nonzeros are in flight.
template <int LaneCount, int ColumnCount, bool IsExact, bool IsStashed, int OrderOrAny = any_order, int SlotCount = 0>
struct KernelShape {
  static constexpr int lanes = LaneCount;
  static constexpr int columns = ColumnCount;
  static constexpr bool exact = IsExact;
  static constexpr bool stashed = IsStashed;
  static constexpr int order = OrderOrAny;
  static constexpr int slots = SlotCount;
};

// The warp that a thread belongs to, and the thread's place in it.
struct WarpPlace {
  int lane = static_cast<int>(threadIdx.x % warp_lanes);
  // As one lane says it: so the compiler knows that it is the same in all, and with it the frames and their loops.
  unsigned warp = __shfl_sync(all_lanes, threadIdx.x / warp_lanes, 0);
  unsigned warps = blockDim.x / warp_lanes;
};

// A block's dynamic shared memory: tables, then what each warp has for itself, then the stash.
template <class Sum>
struct BlockMemory {
  template <class Arguments>
  __device__ BlockMemory(const Arguments& arguments, const WarpPlace& place, std::size_t bytes_of_warp,
                         std::byte* shared)
      : tables(reinterpret_cast<std::uint64_t*>(shared)),
        of_warps(shared + table_bytes(arguments.index_tables + arguments.key_tables)),
        of_warp(of_warps + place.warp * bytes_of_warp),
        stash(reinterpret_cast<Sum*>(of_warps + place.warps * bytes_of_warp)),
        stash_numbers(arguments.stash_rows * static_cast<std::uint32_t>(arguments.rank)) {}

  template <class Arguments>
  __device__ void load_tables(const Arguments& arguments) const {
    const auto count = static_cast<unsigned>(arguments.index_tables + arguments.key_tables);
    const auto* from = reinterpret_cast<const FourWords*>(arguments.tables);
    auto* to = reinterpret_cast<FourWords*>(tables);
    constexpr unsigned quads_of_table = table_bytes(1) / sizeof(FourWords);
    for (unsigned i = threadIdx.x; i < quads_of_table * count; i += blockDim.x) to[i] = from[i];
  }
  __device__ void clear_stash() const {
    for (std::uint32_t i = threadIdx.x; i < stash_numbers; i += blockDim.x) stash[i] = 0;
  }
  // `window`: the rows of the output that are stashed.
  __device__ void add_stash(Sum* window) const {
    for (std::uint32_t i = threadIdx.x; i < stash_numbers; i += blockDim.x) {
      if (stash[i] != Sum{0}) atomicAdd(&window[i], stash[i]);
    }
  }

  std::uint64_t* tables;
  std::byte* of_warps;
  std::byte* of_warp;
  Sum* stash;
  std::uint32_t stash_numbers;
};

// The copy of an output to which a block adds.
template <class Sum>
__device__ inline Sum* copy_of_block(const OutputCopies<Sum>& copies) {
  if (copies.copy_count == 1) return copies.output;
  unsigned block = blockIdx.x;
  BLCO_FORGET(block);
  const unsigned copy_number = block % static_cast<unsigned>(copies.copy_count);
  return copy_number == 0 ? copies.output : copies.more_copies + (copy_number - 1) * copies.copy_stride;
}

// Calls visit(part, frame within the part) for each frame of a warp.
template <class Arguments, class Visit>
__device__ inline void for_each_frame(const Arguments& arguments, const WarpPlace& place, const Visit& visit) {
  // While some warps decode, others wait for factor rows: where all began at once, they would go on doing the same.
  if (arguments.turn_nanoseconds > 0) __nanosleep(arguments.turn_nanoseconds * (place.warp * turns / place.warps));
  const std::uint32_t step = gridDim.x * place.warps;
  int chunk = 0;
  for (std::uint32_t frame = blockIdx.x * place.warps + place.warp; frame < arguments.frames; frame += step) {
    while (chunk + 1 < arguments.chunk_count && frame >= arguments.chunks[chunk + 1].first_frame) ++chunk;
    const ChunkPart& part = arguments.chunks[chunk];
    visit(part, frame - part.first_frame);
  }
}

// Entries whose factor rows are requested together, where the order is not known to the compiler.
constexpr int in_flight = 4;

// Multiplies each of four entries' products by the rows of all modes but `mode`; a lane has columns column + c * Lanes.
// The entries lie `stride` bytes apart.
template <int Lanes, int Columns, bool Exact, class Sum, class Factor>
__device__ inline void multiply_rows(const FrameArguments<Factor>& arguments, int mode, const std::byte* entries,
                                     int stride, int column, int rank, Sum (&products)[in_flight][Columns]) {
  const int width = rank - column;
  for (int k = 0; k < arguments.order - 1; ++k) {
    const Factor* factor = arguments.factors[k < mode ? k : k + 1] + column;
    Factor numbers[in_flight][Columns];
#pragma unroll
    for (int e = 0; e < in_flight; ++e) {
      const auto row = *reinterpret_cast<const std::uint32_t*>(entries + e * stride + 8 + 4 * k);
      const Factor* from = number_at(factor, row, rank);
#pragma unroll
      for (int c = 0; c < Columns; ++c)
        numbers[e][c] = Exact || c * Lanes < width ? __ldg(from + c * Lanes) : Factor{0};
    }
#pragma unroll
    for (int e = 0; e < in_flight; ++e) {
#pragma unroll
      for (int c = 0; c < Columns; ++c) products[e][c] *= static_cast<Sum>(numbers[e][c]);
    }
  }
}

// Adds Lanes * Columns columns of a tile of any order: lane l of a group holds columns first + l + c * Lanes. Exact:
// the rank equals Lanes * Columns.
template <class Sum, class Factor, int Lanes, int Columns, bool Exact, bool Stashed>
__device__ inline void add_columns(const FrameArguments<Factor>& arguments, int mode, const WarpTile& tile, int lane,
                                   int first, const SegmentSink<Sum, Stashed>& sink) {
  constexpr int share = group_share(Lanes);
  const int rank = Exact ? Lanes * Columns : arguments.rank;
  const int column = first + lane % Lanes;
  const int width = rank - column;
  const int begin = lane / Lanes * share;
  const int bytes_of_entry = tile_entry_bytes(arguments.order);
  const std::byte* entries =
      tile.entries + place_of<share>(static_cast<unsigned>(begin)) * static_cast<unsigned>(bytes_of_entry);
  const SegmentSink<Sum, Stashed> own_sink = sink.from_column(column);

  Sum sums[Columns] = {};
#pragma unroll 1
  for (int at = 0; at < share; at += in_flight, entries += in_flight * bytes_of_entry) {
    Sum products[in_flight][Columns];
#pragma unroll
    for (int e = 0; e < in_flight; ++e) {
#pragma unroll
      for (int c = 0; c < Columns; ++c) products[e][c] = *reinterpret_cast<const Sum*>(entries + e * bytes_of_entry);
    }
    multiply_rows<Lanes, Columns, Exact>(arguments, mode, entries, bytes_of_entry, column, rank, products);
    const unsigned flags = tile.ends[(begin + at) / 8] >> (at % 8);
#pragma unroll
    for (int e = 0; e < in_flight; ++e) {
#pragma unroll
      for (int c = 0; c < Columns; ++c) sums[c] += products[e][c];
      if ((flags >> e & 1) == 0) continue;
#pragma unroll
      for (int c = 0; c < Columns; ++c) {
        if (Exact || c * Lanes < width) own_sink.add(tile.targets[begin + at + e], c * Lanes, rank, sums[c]);
        sums[c] = 0;
      }
    }
  }
}

// A nonzero whose factor rows are on their way.
template <class Sum, class Factor, int Others, int Columns>
struct Slot {
  Sum value;
  Factor numbers[Others][Columns];
};

// Adds a tile of an order known to the compiler, at a rank of Lanes * Columns. Lane l of a group holds columns
// l + c * Lanes. `Slots` nonzeros are in flight: as soon as one has been added, the rows of another are requested,
// whose entry was read from the tile a step before.
template <class Sum, class Factor, int Lanes, int Columns, int Slots, int Order>
__device__ inline void add_pipelined(const FrameArguments<Factor>& arguments, const int& mode, const WarpTile& tile,
                                     int lane, const SegmentSink<Sum, false>& sink) {
  constexpr int share = group_share(Lanes);
  constexpr int others = Order - 1;
  constexpr int rank = Lanes * Columns;
  // Steps of a byte of flags, or of less where registers are short: with conversions more than without.
  constexpr int steps_at_once = 8 >> (sizeof(Factor) == sizeof(Sum) ? Order / 5 : Order - 3);
  static_assert(steps_at_once % Slots == 0 && frame_entries / share + Slots + 1 <= tile_gaps);
  const int column = lane % Lanes;
  auto at = static_cast<unsigned>(lane / Lanes * share);  // position of the entry to be added
  SegmentSink<Sum, false> own_sink = sink.from_column(column);
  BLCO_KEEP_ADDRESS(own_sink.copy);
  const Factor* factors[others];
#pragma unroll
  for (int k = 0; k < others; ++k) {
    factors[k] = arguments.factors[k < mode ? k : k + 1] + column;
    BLCO_KEEP_ADDRESS(factors[k]);
  }
  const auto* entry = reinterpret_cast<const TileEntry<Order>*>(tile.entries) + place_of<share>(at);

  using NextSlot = Slot<Sum, Factor, others, Columns>;
  const auto request = [&factors](const TileEntry<Order>& next, NextSlot& slot) {
    slot.value = next.template value<Sum>();
#pragma unroll
    for (int k = 0; k < others; ++k) {
      const Factor* row = number_at(factors[k], next.row(k), rank);
#pragma unroll
      for (int c = 0; c < Columns; ++c) slot.numbers[k][c] = __ldg(row + c * Lanes);
    }
  };
  NextSlot slots[Slots];
#pragma unroll
  for (int s = 0; s < Slots; ++s) request(entry[s], slots[s]);
  TileEntry<Order> next = entry[Slots];
  entry += Slots + 1;

  Sum sums[Columns] = {};
#pragma unroll 1
  do {
    BLCO_FORGET(at);  // one register steps through the tile, not one for each array
    const unsigned flags = tile.ends[at / 8] >> at % 8;
    const std::uint32_t* targets = tile.targets + at;
#pragma unroll
    for (int e = 0; e < steps_at_once; ++e) {
      NextSlot& slot = slots[e % Slots];
#pragma unroll
      for (int c = 0; c < Columns; ++c) {
        Sum product = slot.value;
#pragma unroll
        for (int k = 0; k < others; ++k) product *= static_cast<Sum>(slot.numbers[k][c]);
        sums[c] += product;
      }
      request(next, slot);
      next = entry[e];
      if ((flags >> e & 1) == 0) continue;
      Sum* to = number_at(own_sink.copy, targets[e], rank);
#pragma unroll
      for (int c = 0; c < Columns; ++c) {
        atomicAdd(to + c * Lanes, sums[c]);
        sums[c] = 0;
      }
    }
    at += steps_at_once;
    entry += steps_at_once;
  } while (at % share != 0);
}

}  // namespace blco::cuda
