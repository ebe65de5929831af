// mttkrp.cuh: output[i_n, r] += value * prod_{m != n} A_m[i_m, r], over the nonzeros (i_1, ..., i_N; value) of chunks.
//
// Nguyen et al., ICS 2022, section 5: a warp decodes and reorders a tile (tile.cuh) and adds it (segments.cuh). At
// common ranks, orders 3 to 5 have a loop of their own, which keeps several nonzeros in flight.
#pragma once

#include "kernels/cuda/segments.cuh"

namespace blco::cuda {

template <class Sum, class Factor, class Shape>
__global__ void __launch_bounds__(mttkrp_threads, mttkrp_blocks_per_multiprocessor)
    mttkrp_kernel(const __grid_constant__ MttkrpArguments<Sum, Factor> arguments) {
  BLCO_DYNAMIC_SHARED(shared);
  const WarpPlace place;
  const int order = Shape::order == any_order ? arguments.order : Shape::order;
  const BlockMemory<Sum> memory(arguments, place, tile_bytes(order, arguments.has_high_word), shared);
  const WarpTile tile = carve_tile(memory.of_warp, order);
  memory.load_tables(arguments);
  if constexpr (Shape::order != any_order) clear_gaps<group_share(Shape::lanes), Shape::order>(tile, place.lane);
  if constexpr (Shape::stashed) memory.clear_stash();
  __syncthreads();

  for_each_frame(arguments, place, [&](const ChunkPart& part, std::uint32_t frame) {
    int lane = place.lane;
    BLCO_FORGET(lane);  // nothing that follows from it is held from frame to frame
    const SegmentSink<Sum, Shape::stashed> sink{copy_of_block<Sum>(arguments), memory.stash, arguments.stash_first,
                                                arguments.stash_rows};
    prepare_tile<group_share(Shape::lanes), Shape::order>(arguments, part, memory.tables, tile, frame, lane);
    if constexpr (Shape::order != any_order) {
      add_pipelined<Sum, Factor, Shape::lanes, Shape::columns, Shape::slots, Shape::order>(arguments, arguments.mode,
                                                                                           tile, lane, sink);
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
    memory.add_stash(copy_of_block<Sum>(arguments) +
                     arguments.stash_first * static_cast<std::uint64_t>(arguments.rank));
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

}  // namespace blco::cuda
