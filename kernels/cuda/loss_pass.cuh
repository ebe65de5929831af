// loss_pass.cuh: m = sum_r prod_n A_n[i_n, r]; (term, weight) = f(x, m); the terms' sum; and for each mode n that has
// an output, output_n[i_n, r] += weight * prod_{k != n} A_k[i_k, r], over the nonzeros (i_1, ..., i_N; x) of chunks.
//
// A warp decodes a frame once, in slots (tile.cuh). Four lanes compute the model's value of an entry, so that after
// four entries each lane has one to weigh; weights take the values' place. For each output the tile is then brought
// into the order of its rows (tile.cuh) and added as MTTKRP adds it (segments.cuh).
#pragma once

#include "kernels/cuda/loss_pass.hpp"
#include "kernels/cuda/segments.cuh"

namespace blco::cuda {

// Lanes that compute the model's value of an entry. Each block of 32 slots takes four steps.
constexpr int model_lanes = 4;
constexpr int model_step = warp_lanes / model_lanes;  // entries at a time
static_assert(model_lanes == in_flight);

template <class Sum>
struct Weighed {
  Sum term;
  Sum weight;
};

// Out of line, since all losses and rules together are longer than the rest of a kernel.
template <class Sum>
__device__ __attribute__((noinline)) Weighed<Sum> weigh(EntryFunction function, Sum entry, Sum model) {
  Weighed<Sum> made{};
  with_rule(function, [&](const auto& rule) { rule(entry, model, made.term, made.weight); });
  return made;
}

// The sums of four numbers over groups of four lanes: lane l of a group receives that of number l.
template <class Sum>
__device__ inline Sum sum_of_group(const Sum (&numbers)[model_lanes], int lane) {
  const bool odd = lane % 2 != 0;
  const Sum lower = (odd ? numbers[1] : numbers[0]) + __shfl_xor_sync(all_lanes, odd ? numbers[0] : numbers[1], 1);
  const Sum upper = (odd ? numbers[3] : numbers[2]) + __shfl_xor_sync(all_lanes, odd ? numbers[2] : numbers[3], 1);
  const bool high = lane / 2 % 2 != 0;
  return (high ? upper : lower) + __shfl_xor_sync(all_lanes, high ? lower : upper, 2);
}

// How far loops over a row's vectors, and over pairs of entries, are unrolled: registers hold no more loads in flight.
BLCO_HOST_DEVICE constexpr int vectors_at_once(int order, int rank) { return order * rank < 256 ? rank : 2; }
BLCO_HOST_DEVICE constexpr int pairs_at_once(int order, int rank) { return order * rank <= 48 ? 2 : 1; }

// The lane's part of the model's value of one entry, of an order and a rank known to the compiler.
template <class Sum, class Factor, int Order, int Rank>
__device__ inline Sum part_of_model(const Factor* const (&factors)[Order], const TileEntry<Order>& entry,
                                    std::uint32_t target) {
  constexpr int width = vector_width<Factor>;
  Sum sum = 0;
#pragma unroll(vectors_at_once(Order, Rank))
  for (int column = 0; column < Rank; column += model_lanes * width) {
    Sum products[width];
    Factor numbers[width];
    load_vector(factors[0] + std::uint64_t{target} * Rank + column, numbers);
#pragma unroll
    for (int c = 0; c < width; ++c) products[c] = static_cast<Sum>(numbers[c]);
#pragma unroll
    for (int k = 0; k < Order - 1; ++k) {
      load_vector(factors[k + 1] + std::uint64_t{entry.row(k)} * Rank + column, numbers);
#pragma unroll
      for (int c = 0; c < width; ++c) products[c] *= static_cast<Sum>(numbers[c]);
    }
#pragma unroll
    for (int c = 0; c < width; ++c) sum += products[c];
  }
  return sum;
}

// The lane's parts of the model's values of four entries in slots first + lane / 4 + 8 * e.
template <class Sum, class Factor, class Shape>
__device__ inline void add_parts(const FrameArguments<Factor>& arguments, const WarpTile& tile, int mode, int first,
                                 int lane, Sum (&sums)[model_lanes]) {
  constexpr int share = group_share(Shape::lanes);
  const std::uint32_t place = place_of<share>(static_cast<std::uint32_t>(first)) + lane / model_lanes;
  const std::uint32_t* targets = tile.targets + first + lane / model_lanes;
  if constexpr (Shape::order != any_order) {
    constexpr int rank = Shape::lanes * Shape::columns;
    const auto* entries = reinterpret_cast<const TileEntry<Shape::order>*>(tile.entries) + place;
    const Factor* factors[Shape::order];
    const int column = lane % model_lanes * vector_width<Factor>;
    factors[0] = arguments.factors[mode] + column;
#pragma unroll
    for (int k = 0; k < Shape::order - 1; ++k) factors[k + 1] = arguments.factors[k < mode ? k : k + 1] + column;
#pragma unroll(pairs_at_once(Shape::order, rank))
    for (int e = 0; e < model_lanes; e += 2, entries += 2 * model_step, targets += 2 * model_step) {
      sums[0] = sums[2];
      sums[1] = sums[3];
      sums[2] = part_of_model<Sum, Factor, Shape::order, rank>(factors, entries[0], targets[0]);
      sums[3] = part_of_model<Sum, Factor, Shape::order, rank>(factors, entries[model_step], targets[model_step]);
    }
  } else {
    constexpr int columns = 2;
    const int bytes_of_entry = tile_entry_bytes(arguments.order);
    const std::byte* entries = tile.entries + place * static_cast<unsigned>(bytes_of_entry);
    const int rank = arguments.rank;
#pragma unroll 1
    for (int column = lane % model_lanes; column < rank; column += model_lanes * columns) {
      Sum products[in_flight][columns];
#pragma unroll
      for (int e = 0; e < in_flight; ++e) {
        const Factor* from = number_at(arguments.factors[mode] + column, targets[e * model_step], rank);
#pragma unroll
        for (int c = 0; c < columns; ++c)
          products[e][c] = column + c * model_lanes < rank ? static_cast<Sum>(__ldg(from + c * model_lanes)) : Sum{0};
      }
      multiply_rows<model_lanes, columns, false>(arguments, mode, entries, model_step * bytes_of_entry, column, rank,
                                                 products);
#pragma unroll
      for (int e = 0; e < in_flight; ++e) {
#pragma unroll
        for (int c = 0; c < columns; ++c) sums[e] += products[e][c];
      }
    }
  }
}

// Makes weights of the values of a tile in slots, whose target is `mode`; returns the sum of the lane's terms. Behind
// the last of `count` entries weights are 0.
template <class Sum, class Factor, class Shape>
__device__ inline double weigh_tile(const LossArguments<Sum, Factor>& arguments, const WarpTile& tile, int mode,
                                    int count, int lane) {
  constexpr int share = group_share(Shape::lanes);
  const int order = Shape::order == any_order ? arguments.order : Shape::order;
  double terms = 0;
#pragma unroll 1
  for (int first = 0; first < frame_entries; first += warp_lanes) {
    BLCO_FORGET(lane);  // nothing that follows from it is held from step to step
    Sum sums[model_lanes] = {};
    add_parts<Sum, Factor, Shape>(arguments, tile, mode, first, lane, sums);
    const Sum model = sum_of_group(sums, lane);
    const int own = lane / model_lanes + lane % model_lanes * model_step;
    const std::uint32_t place = place_of<share>(static_cast<std::uint32_t>(first)) + static_cast<std::uint32_t>(own);
    auto* number = reinterpret_cast<Sum*>(tile.entries + place * static_cast<unsigned>(tile_entry_bytes(order)));
    const Weighed<Sum> made = weigh(arguments.function, *number, model);
    const bool counts = own * lane_entries + first / warp_lanes < count;
    terms += counts ? static_cast<double>(made.term) : 0;
    *number = counts ? static_cast<Sum>(arguments.function.scale) * made.weight : Sum{0};
  }
  return terms;
}

// Adds a tile that is in order to the output of its target.
template <class Sum, class Factor, class Shape>
__device__ inline void add_tile(const FrameArguments<Factor>& arguments, int mode, const WarpTile& tile, int lane,
                                const SegmentSink<Sum, Shape::stashed>& sink) {
  if constexpr (Shape::order != any_order) {
    add_pipelined<Sum, Factor, Shape::lanes, Shape::columns, Shape::slots, Shape::order>(arguments, mode, tile, lane,
                                                                                         sink);
  } else {
    for (int first = 0; first < arguments.rank; first += Shape::lanes * Shape::columns) {
      add_columns<Sum, Factor, Shape::lanes, Shape::columns, false>(arguments, mode, tile, lane, first, sink);
    }
  }
  __syncwarp();
}

// Adds the terms of a frame to the warp's own sum: atomically, so that it need not wait for the sum so far.
__device__ inline void add_terms(double terms, double scale, int lane, double* sum) {
#pragma unroll
  for (int step = warp_lanes / 2; step > 0; step /= 2) terms += __shfl_xor_sync(all_lanes, terms, step);
  if (lane == 0) atomicAdd(sum, scale * terms);
}

template <class Sum, class Factor, class Shape>
__global__ void __launch_bounds__(mttkrp_threads, mttkrp_blocks_per_multiprocessor)
    loss_kernel(const __grid_constant__ LossArguments<Sum, Factor> arguments) {
  constexpr int share = group_share(Shape::lanes);
  BLCO_DYNAMIC_SHARED(shared);
  const WarpPlace place;
  const int order = Shape::order == any_order ? arguments.order : Shape::order;
  const BlockMemory<Sum> memory(arguments, place, tile_bytes(order, arguments.has_high_word), shared);
  const WarpTile tile = carve_tile(memory.of_warp, order);
  memory.load_tables(arguments);
  if constexpr (Shape::order != any_order) clear_gaps<share, Shape::order>(tile, place.lane);
  if constexpr (Shape::stashed) memory.clear_stash();
  __syncthreads();

  const int begin = first_mode(arguments.outputs);
  for_each_frame(arguments, place, [&](const ChunkPart& part, std::uint32_t frame) {
    int lane = place.lane;
    BLCO_FORGET(lane);  // nothing that follows from it is held from frame to frame
    lay_out_tile<Sum, share, Shape::order>(arguments, part, memory.tables, tile, begin, frame, lane);
    const double terms = weigh_tile<Sum, Factor, Shape>(arguments, tile, begin, entries_of(part, frame), lane);
    const unsigned own_warp = blockIdx.x * place.warps + threadIdx.x / warp_lanes;
    add_terms(terms, arguments.function.scale, lane, arguments.terms + own_warp);
    __syncwarp();
    int target = begin;
    for (int mode = begin; arguments.outputs >> mode != 0; ++mode) {
      if (!has_mode(arguments.outputs, mode)) continue;
      reorder_tile<share>(tile, order, target, mode, lane);
      target = mode;
      const SegmentSink<Sum, Shape::stashed> sink{copy_of_block(arguments.output[mode]), memory.stash,
                                                  arguments.stash_first, arguments.stash_rows};
      add_tile<Sum, Factor, Shape>(arguments, mode, tile, lane, sink);
    }
  });

  if constexpr (Shape::stashed) {
    __syncthreads();
    memory.add_stash(copy_of_block(arguments.output[begin]) +
                     arguments.stash_first * static_cast<std::uint64_t>(arguments.rank));
  }
}

// The kernel of any order, by the group of lanes that adds.
template <class Sum, class Factor, int Lanes, int Columns>
LossKernel<Sum, Factor> loss_kernel_of_kind(bool stashed) {
  if (stashed) return loss_kernel<Sum, Factor, KernelShape<Lanes, Columns, false, true>>;
  return loss_kernel<Sum, Factor, KernelShape<Lanes, Columns, false, false>>;
}

// The kernel of a common rank, Lanes * Columns, of orders 3 to 5; null for others.
template <class Sum, class Factor, int Lanes, int Columns, int Slots>
LossKernel<Sum, Factor> loss_kernel_of_common_rank(int order) {
  if (order == 3) return loss_kernel<Sum, Factor, KernelShape<Lanes, Columns, true, false, 3, Slots>>;
  if (order == 4) return loss_kernel<Sum, Factor, KernelShape<Lanes, Columns, true, false, 4, Slots>>;
  if (order == 5) return loss_kernel<Sum, Factor, KernelShape<Lanes, Columns, true, false, 5, 2>>;
  return nullptr;
}

}  // namespace blco::cuda
