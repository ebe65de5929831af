// loss_pass.cuh: m = sum_r prod_n A_n[i_n, r]; (term, weight) = f(x, m); the terms' sum; and for each mode n that has
// an output, output_n[i_n, r] += weight * prod_{k != n} A_k[i_k, r], over the nonzeros (i_1, ..., i_N; x) of chunks.
//
// A warp decodes a frame once and reorders it (tile.cuh) by the rows of the first output. Groups of lanes run along the
// rank for the model's values; then each lane turns eight entries into weights, which take the values' place. After
// that the tile is added as MTTKRP adds it (segments.cuh), and reordered for the next output.
#pragma once

#include "kernels/cuda/loss_pass.hpp"
#include "kernels/cuda/segments.cuh"

namespace blco::cuda {

// What a warp has behind its tile. By slot, so that a lane reads and writes its own entries alone.
template <class Sum>
struct LossMemory {
  Sum* numbers;            // entries, then their weights
  std::uint64_t* indices;  // null with fewer than two outputs
};

template <class Sum>
__device__ inline LossMemory<Sum> carve_loss(std::byte* memory, bool several_outputs) {
  auto* indices = reinterpret_cast<std::uint64_t*>(memory + frame_entries * sizeof(Sum));
  return {reinterpret_cast<Sum*>(memory), several_outputs ? indices : nullptr};
}

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

// The sums of four numbers over groups of lanes: lane l of a group receives that of number l % 4.
template <int Lanes, class Sum>
__device__ inline Sum sum_of_group(const Sum (&numbers)[4], int lane) {
  static_assert(Lanes >= 4);
  const bool odd = lane % 2 != 0;
  const Sum lower = (odd ? numbers[1] : numbers[0]) + __shfl_xor_sync(all_lanes, odd ? numbers[0] : numbers[1], 1);
  const Sum upper = (odd ? numbers[3] : numbers[2]) + __shfl_xor_sync(all_lanes, odd ? numbers[2] : numbers[3], 1);
  const bool high = lane / 2 % 2 != 0;
  Sum sum = (high ? upper : lower) + __shfl_xor_sync(all_lanes, high ? lower : upper, 2);
#pragma unroll
  for (int step = 4; step < Lanes; step *= 2) sum += __shfl_xor_sync(all_lanes, sum, step);
  return sum;
}

// Writes the model's values to the values' places of a tile that is sorted by `mode`.
template <class Sum, class Factor, int Lanes, int Columns>
__device__ inline void place_model(const FrameArguments<Factor>& arguments, int mode, const WarpTile& tile, int lane) {
  constexpr int share = group_share(Lanes);
  const int rank = arguments.rank;
  const int begin = lane / Lanes * share;
  const int bytes_of_entry = tile_entry_bytes(arguments.order);
  std::byte* entries =
      tile.entries + place_of<share>(static_cast<unsigned>(begin)) * static_cast<unsigned>(bytes_of_entry);
#pragma unroll 1
  for (int at = 0; at < share; at += in_flight, entries += in_flight * bytes_of_entry) {
    Sum sums[in_flight] = {};
    for (int first = 0; first < rank; first += Lanes * Columns) {
      const int column = first + lane % Lanes;
      const int width = rank - column;
      const Factor* factor = arguments.factors[mode] + column;
      Sum products[in_flight][Columns];
#pragma unroll
      for (int e = 0; e < in_flight; ++e) {
        const Factor* from = factor + std::uint64_t{tile.targets[begin + at + e]} * static_cast<std::uint64_t>(rank);
#pragma unroll
        for (int c = 0; c < Columns; ++c)
          products[e][c] = c * Lanes < width ? static_cast<Sum>(__ldg(from + c * Lanes)) : Sum{0};
      }
      multiply_rows<Lanes, Columns, false>(arguments, mode, entries, column, rank, products);
#pragma unroll
      for (int e = 0; e < in_flight; ++e) {
#pragma unroll
        for (int c = 0; c < Columns; ++c) sums[e] += products[e][c];
      }
    }
    const Sum model = sum_of_group<Lanes>(sums, lane);
    if (lane % Lanes < in_flight) *reinterpret_cast<Sum*>(entries + lane % in_flight * bytes_of_entry) = model;
  }
}

// Turns the model's values in the tile into weights, also in `numbers`; returns the sum of the lane's terms. Behind the
// last of `count` entries weights are 0.
template <int Share, class Sum>
__device__ inline double place_weights(const EntryFunction& function, std::uint64_t positions, int count, int lane,
                                       int bytes_of_entry, std::byte* entries, Sum* numbers) {
  const auto scale = static_cast<Sum>(function.scale);
  double terms = 0;
#pragma unroll 1
  for (int j = 0; j < lane_entries; ++j) {
    const std::uint32_t place = place_of<Share>(position_of(positions, j));
    auto* number = reinterpret_cast<Sum*>(entries + place * static_cast<unsigned>(bytes_of_entry));
    Sum& own = numbers[j * warp_lanes + lane];
    const Weighed<Sum> made = weigh(function, own, *number);
    const bool counts = lane * lane_entries + j < count;
    terms += counts ? static_cast<double>(made.term) : 0;
    own = *number = counts ? scale * made.weight : Sum{0};
  }
  return terms;
}

// Writes a frame's values to `numbers`. `scratch` holds 256 words, and is free again on return.
template <class Sum>
__device__ inline void load_numbers(const PayloadView& payload, std::uint32_t frame, int count, int lane,
                                    std::byte* scratch, Sum* numbers) {
  constexpr int without_gaps = 1;
  std::uint64_t slots = 0;
  LaneEntries<std::uint32_t> at;
#pragma unroll
  for (int j = 0; j < lane_entries; ++j) {
    const auto slot = static_cast<unsigned>(j * warp_lanes + lane);
    slots |= std::uint64_t{slot} << (8 * j);
    at[j] = slot * sizeof(std::uint64_t);
  }
  place_values<Sum, without_gaps>(payload, frame, count, lane, slots, at, sizeof(std::uint64_t), scratch);
#pragma unroll
  for (int j = 0; j < lane_entries; ++j) {
    numbers[j * warp_lanes + lane] = *reinterpret_cast<const Sum*>(scratch + at[j]);
  }
}

// Decodes a frame, reorders it by rows of `mode`, and makes weights of its values; returns the sum of the lane's terms.
template <class Sum, class Factor, int Lanes, int Columns>
__device__ inline double weigh_frame(const LossArguments<Sum, Factor>& arguments, const ChunkPart& part,
                                     const std::uint64_t* tables, const WarpTile& tile, const LossMemory<Sum>& more,
                                     int mode, std::uint32_t frame, int lane) {
  constexpr int share = group_share(Lanes);
  const int count = entries_of(part, frame);
  load_numbers(part.value, frame, count, lane, tile.entries, more.numbers);
  LaneEntries<std::uint64_t> indices;
  decode_indices(arguments, part, tables, tile, frame, count, lane, indices);
  if (more.indices != nullptr) {
#pragma unroll
    for (int j = 0; j < lane_entries; ++j) more.indices[j * warp_lanes + lane] = indices[j];
  }
  LaneEntries<std::uint32_t> at;
  const std::uint64_t positions = place_rows<share, any_order>(arguments, part, tile, mode, lane, indices, at);
  __syncwarp();
  place_model<Sum, Factor, Lanes, Columns>(arguments, mode, tile, lane);
  __syncwarp();
  const double terms = place_weights<share>(arguments.function, positions, count, lane,
                                            tile_entry_bytes(arguments.order), tile.entries, more.numbers);
  __syncwarp();
  return terms;
}

// Reorders the frame whose weights are known by rows of another mode.
template <class Sum, class Factor, int Lanes>
__device__ inline void reorder_frame(const LossArguments<Sum, Factor>& arguments, const ChunkPart& part,
                                     const WarpTile& tile, const LossMemory<Sum>& more, int mode, int lane) {
  LaneEntries<std::uint64_t> indices;
#pragma unroll
  for (int j = 0; j < lane_entries; ++j) indices[j] = more.indices[j * warp_lanes + lane];
  LaneEntries<std::uint32_t> at;
  place_rows<group_share(Lanes), any_order>(arguments, part, tile, mode, lane, indices, at);
#pragma unroll
  for (int j = 0; j < lane_entries; ++j) {
    *reinterpret_cast<Sum*>(tile.entries + at[j]) = more.numbers[j * warp_lanes + lane];
  }
  __syncwarp();
}

// Adds the warp's terms to its own sum.
__device__ inline void add_terms(double terms, double scale, const WarpPlace& place, double* sums) {
#pragma unroll
  for (int step = warp_lanes / 2; step > 0; step /= 2) terms += __shfl_xor_sync(all_lanes, terms, step);
  if (place.lane == 0) sums[blockIdx.x * place.warps + place.warp] += scale * terms;
}

template <class Sum, class Factor, int Lanes, int Columns, bool Stashed>
__global__ void __launch_bounds__(mttkrp_threads, mttkrp_blocks_per_multiprocessor)
    loss_kernel(const __grid_constant__ LossArguments<Sum, Factor> arguments) {
  BLCO_DYNAMIC_SHARED(shared);
  const WarpPlace place;
  const int lane = place.lane;
  const bool several = has_several(arguments.outputs);
  const std::size_t bytes_of_tile = tile_bytes(arguments.order, arguments.has_key);
  const BlockMemory<Sum> memory(arguments, place, bytes_of_tile + loss_bytes<Sum>(several), shared);
  const WarpTile tile = carve_tile(memory.of_warp, arguments.order, arguments.has_key);
  const LossMemory<Sum> more = carve_loss<Sum>(memory.of_warp + bytes_of_tile, several);
  memory.load_tables(arguments);
  if constexpr (Stashed) memory.clear_stash();
  __syncthreads();

  const int begin = first_mode(arguments.outputs);
  double terms = 0;
  for_each_frame(arguments, place, [&](const ChunkPart& part, std::uint32_t frame) {
    terms += weigh_frame<Sum, Factor, Lanes, Columns>(arguments, part, memory.tables, tile, more, begin, frame, lane);
    for (int mode = begin; arguments.outputs >> mode != 0; ++mode) {
      if (!has_mode(arguments.outputs, mode)) continue;
      if (mode != begin) reorder_frame<Sum, Factor, Lanes>(arguments, part, tile, more, mode, lane);
      const SegmentSink<Sum, Stashed> sink{copy_of_block(arguments.output[mode]), memory.stash, arguments.stash_first,
                                           arguments.stash_rows};
      for (int first = 0; first < arguments.rank; first += Lanes * Columns) {
        add_columns<Sum, Factor, Lanes, Columns, false>(arguments, mode, tile, lane, first, sink);
      }
      __syncwarp();
    }
  });
  add_terms(terms, arguments.function.scale, place, arguments.terms);

  if constexpr (Stashed) {
    __syncthreads();
    memory.add_stash(copy_of_block(arguments.output[begin]) +
                     arguments.stash_first * static_cast<std::uint64_t>(arguments.rank));
  }
}

template <class Sum, class Factor, int Lanes, int Columns>
LossKernel<Sum, Factor> loss_kernel_of_kind(bool stashed) {
  if (stashed) return loss_kernel<Sum, Factor, Lanes, Columns, true>;
  return loss_kernel<Sum, Factor, Lanes, Columns, false>;
}

// The narrowest group of lanes that holds the rank; large ranks run in blocks of 64 columns.
template <class Sum, class Factor>
LossKernel<Sum, Factor> loss_kernel_for(int rank, bool stashed) {
  if (rank <= 4) return loss_kernel_of_kind<Sum, Factor, 4, 1>(stashed);
  if (rank <= 8) return loss_kernel_of_kind<Sum, Factor, 8, 1>(stashed);
  if (rank <= 16) return loss_kernel_of_kind<Sum, Factor, 16, 1>(stashed);
  if (rank <= 32) return loss_kernel_of_kind<Sum, Factor, 32, 1>(stashed);
  return loss_kernel_of_kind<Sum, Factor, 32, 2>(stashed);
}

}  // namespace blco::cuda
