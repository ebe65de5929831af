// mttkrp.cuh: output[i_n, r] += value * prod_{m != n} A_m[i_m, r], over the nonzeros (i_1, ..., i_N; value) of chunks.
//
// Nguyen et al., ICS 2022, section 5: a warp decodes and reorders a tile (tile.cuh) and adds it (segments.cuh). At
// common ranks, orders 3 to 5 have a loop of their own, which keeps several nonzeros in flight.
#pragma once

#include "kernels/cuda/segments.cuh"

namespace blco::cuda {

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
__device__ inline void add_pipelined(const MttkrpArguments<Sum, Factor>& arguments, const WarpTile& tile, int lane,
                                     const SegmentSink<Sum, false>& sink) {
  constexpr int share = group_share(Lanes);
  constexpr int others = Order - 1;
  constexpr int rank = Lanes * Columns;
  constexpr int steps_at_once = 8;  // one byte of flags
  static_assert(steps_at_once % Slots == 0 && frame_entries / share + Slots + 1 <= tile_gaps);
  const int column = lane % Lanes;
  const int begin = lane / Lanes * share;
  const SegmentSink<Sum, false> own_sink = sink.from_column(column);
  const Factor* factors[others];
#pragma unroll
  for (int k = 0; k < others; ++k) factors[k] = arguments.factors[k < arguments.mode ? k : k + 1] + column;
  const auto* entry =
      reinterpret_cast<const TileEntry<Order>*>(tile.entries) + place_of<share>(static_cast<unsigned>(begin));
  const std::uint32_t* targets = tile.targets + begin;
  const std::uint8_t* ends = tile.ends + begin / 8;

  using NextSlot = Slot<Sum, Factor, others, Columns>;
  const auto request = [&factors](const TileEntry<Order>& next, NextSlot& slot) {
    slot.value = next.template value<Sum>();
#pragma unroll
    for (int k = 0; k < others; ++k) {
      const Factor* row = factors[k] + std::uint64_t{next.row(k)} * rank;
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
  for (int at = 0; at < share; at += steps_at_once, entry += steps_at_once, targets += steps_at_once) {
    const unsigned flags = ends[at / 8];
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
#pragma unroll
      for (int c = 0; c < Columns; ++c) {
        own_sink.add(targets[e], c * Lanes, rank, sums[c]);
        sums[c] = 0;
      }
    }
  }
}

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

template <class Sum, class Factor, class Shape>
__global__ void __launch_bounds__(mttkrp_threads, mttkrp_blocks_per_multiprocessor)
    mttkrp_kernel(const __grid_constant__ MttkrpArguments<Sum, Factor> arguments) {
  BLCO_DYNAMIC_SHARED(shared);
  const WarpPlace place;
  const int lane = place.lane;
  const int order = Shape::order == any_order ? arguments.order : Shape::order;
  const BlockMemory<Sum> memory(arguments, place, tile_bytes(order, arguments.has_key), shared);
  const WarpTile tile = carve_tile(memory.of_warp, order, arguments.has_key);
  memory.load_tables(arguments);
  if constexpr (Shape::order != any_order) clear_gaps<group_share(Shape::lanes), Shape::order>(tile, lane);
  if constexpr (Shape::stashed) memory.clear_stash();
  __syncthreads();

  Sum* copy = copy_of_block<Sum>(arguments);
  const SegmentSink<Sum, Shape::stashed> sink{copy, memory.stash, arguments.stash_first, arguments.stash_rows};
  for_each_frame(arguments, place, [&](const ChunkPart& part, std::uint32_t frame) {
    prepare_tile<group_share(Shape::lanes), Shape::order>(arguments, part, memory.tables, tile, frame, lane);
    if constexpr (Shape::order != any_order) {
      add_pipelined<Sum, Factor, Shape::lanes, Shape::columns, Shape::slots, Shape::order>(arguments, tile, lane, sink);
    } else {
      const int rank = Shape::exact ? Shape::lanes * Shape::columns : arguments.rank;
      for (int first = 0; first < rank; first += Shape::lanes * Shape::columns) {
        add_columns<Sum, Factor, Shape::lanes, Shape::columns, Shape::exact>(arguments, arguments.mode, tile, lane,
                                                                             first, sink);
      }
    }
    __syncwarp();
  });

  if constexpr (Shape::stashed) {
    __syncthreads();
    memory.add_stash(copy + arguments.stash_first * static_cast<std::uint64_t>(arguments.rank));
  }
}

// The kernel of one kind of rank, for any order.
template <class Sum, class Factor, int Lanes, int Columns, bool Exact>
MttkrpKernel<Sum, Factor> kernel_of_kind(bool stashed) {
  if (stashed) return mttkrp_kernel<Sum, Factor, KernelShape<Lanes, Columns, Exact, true>>;
  return mttkrp_kernel<Sum, Factor, KernelShape<Lanes, Columns, Exact, false>>;
}

// The kernel of a common rank, Lanes * Columns. Five modes take so many registers that two nonzeros are in flight.
template <class Sum, class Factor, int Lanes, int Columns, int Slots>
MttkrpKernel<Sum, Factor> kernel_of_common_rank(int order, bool stashed) {
  if (!stashed && order == 3) return mttkrp_kernel<Sum, Factor, KernelShape<Lanes, Columns, true, false, 3, Slots>>;
  if (!stashed && order == 4) return mttkrp_kernel<Sum, Factor, KernelShape<Lanes, Columns, true, false, 4, Slots>>;
  if (!stashed && order == 5) return mttkrp_kernel<Sum, Factor, KernelShape<Lanes, Columns, true, false, 5, 2>>;
  return kernel_of_kind<Sum, Factor, Lanes, Columns, true>(stashed);
}

// Ranks 1, 2, 8, 16, 24, 32, 48 and 64 are compiled in. Other small ranks use the narrowest group that holds them, so
// that the warp's other lanes process other entries; other large ranks run in blocks of 32 or 64 columns.
template <class Sum, class Factor>
MttkrpKernel<Sum, Factor> mttkrp_kernel_for(int order, int rank, bool stashed, KernelVariant variant) {
  if constexpr (sizeof(Sum) == sizeof(double)) {
    if (rank == 32 && variant == KernelVariant::wide) {
      return kernel_of_common_rank<Sum, Factor, 32, 1, 2>(order, stashed);
    }
    if (rank == 32 && variant == KernelVariant::wide_deep) {
      return kernel_of_common_rank<Sum, Factor, 32, 1, 4>(order, stashed);
    }
  }
  switch (rank) {
    case 8:
      return kernel_of_kind<Sum, Factor, 8, 1, true>(stashed);
    case 16:
      return kernel_of_common_rank<Sum, Factor, 16, 1, 4>(order, stashed);
    case 24:
      return kernel_of_kind<Sum, Factor, 8, 3, true>(stashed);
    case 32:
      return kernel_of_common_rank<Sum, Factor, 16, 2, 2>(order, stashed);
    case 48:
      return kernel_of_kind<Sum, Factor, 16, 3, true>(stashed);
    case 64:
      return kernel_of_common_rank<Sum, Factor, 32, 2, 2>(order, stashed);
    default:
      break;
  }
  if (rank == 1) return kernel_of_kind<Sum, Factor, 1, 1, true>(stashed);
  if (rank == 2) return kernel_of_kind<Sum, Factor, 2, 1, true>(stashed);
  if (rank <= 4) return kernel_of_kind<Sum, Factor, 4, 1, false>(stashed);
  if (rank <= 8) return kernel_of_kind<Sum, Factor, 8, 1, false>(stashed);
  if (rank <= 16) return kernel_of_kind<Sum, Factor, 16, 1, false>(stashed);
  if (rank <= 32) return kernel_of_kind<Sum, Factor, 32, 1, false>(stashed);
  return kernel_of_kind<Sum, Factor, 32, 2, false>(stashed);
}

}  // namespace blco::cuda
