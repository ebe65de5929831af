// ttmc.cuh: output[i_n, (r_m)] += value * prod_{m != n} A_m[i_m, r_m], over the nonzeros (i_1, ..., i_N; value) of
// chunks and all choices of a column r_m of each mode m != n.
//
// A warp decodes and reorders a tile (tile.cuh), and goes through it once per block of choices. Of the other modes,
// groups of lanes run along the columns of the last, each over its share of the tile, and a lane has several columns of
// the middle, the mode before that one, in registers: a number of the last row serves all of them. The first modes have
// one column at a time, which multiplies the values in the tile. Conflict resolution is register-based: sums of a
// segment are added to global memory at its end.
#pragma once

#include "kernels/cuda/segments.cuh"
#include "kernels/cuda/ttmc.hpp"

namespace blco::cuda {

// Entries whose factor rows are requested together.
constexpr int ttmc_in_flight = 2;

// A mode's matrix from a column on, and the place of the mode's rows in entries of a tile.
template <class Factor>
struct MatrixColumns {
  const Factor* first = nullptr;
  int columns = 0;  // of the whole matrix
  int place = 0;

  __device__ MatrixColumns from(int column) const { return {first + column, columns, place}; }
  __device__ const Factor* at(const std::byte* entry) const {
    return number_at(first, *reinterpret_cast<const std::uint32_t*>(entry + place), columns);
  }
};

// Of other mode k, in order.
template <class Sum, class Factor>
__device__ inline MatrixColumns<Factor> matrix_of(const TtmcArguments<Sum, Factor>& arguments, int k) {
  const int mode = k < arguments.mode ? k : k + 1;
  return {arguments.factors[mode], arguments.columns[mode], 8 + 4 * k};
}

// The first Columns numbers of `from`; those from `width` on are zeros unless Exact.
template <int Columns, bool Exact, class Factor>
__device__ inline void load_columns(const Factor* from, int width, Factor (&numbers)[Columns]) {
  if constexpr (Exact) {
    constexpr int vector = vector_width<Factor>;
    static_assert(Columns % vector == 0);
#pragma unroll
    for (int c = 0; c < Columns; c += vector) {
      Factor some[vector];
      load_vector(from + c, some);
#pragma unroll
      for (int v = 0; v < vector; ++v) numbers[c + v] = some[v];
    }
  } else {
#pragma unroll
    for (int c = 0; c < Columns; ++c) numbers[c] = c < width ? __ldg(from + c) : Factor{0};
  }
}

// Adds a block of choices of a tile: `width` columns of the middle, each with the lane's column of the last. `output`
// starts at the first of them. Not Exact: a lane without a column has width 0.
template <class Sum, class Factor, class Shape>
__device__ inline void add_choices(const TtmcArguments<Sum, Factor>& arguments, const WarpTile& tile, int lane,
                                   const MatrixColumns<Factor>& middle, int width, const MatrixColumns<Factor>& last,
                                   Sum* output) {
  constexpr int share = group_share(Shape::lanes);
  const int begin = lane / Shape::lanes * share;
  const int bytes_of_entry = tile_entry_bytes(arguments.order);
  const std::byte* entries =
      tile.entries + place_of<share>(static_cast<unsigned>(begin)) * static_cast<unsigned>(bytes_of_entry);

  Sum sums[Shape::columns] = {};
#pragma unroll 1
  for (int at = 0; at < share; at += ttmc_in_flight, entries += ttmc_in_flight * bytes_of_entry) {
    Sum products[ttmc_in_flight];
    Factor numbers[ttmc_in_flight][Shape::columns];
#pragma unroll
    for (int e = 0; e < ttmc_in_flight; ++e) {
      const std::byte* entry = entries + e * bytes_of_entry;
      load_columns<Shape::columns, Shape::exact>(middle.at(entry), width, numbers[e]);
      const Factor of_last = Shape::exact || width > 0 ? __ldg(last.at(entry)) : Factor{0};
      products[e] = *reinterpret_cast<const Sum*>(entry) * static_cast<Sum>(of_last);
    }
    const unsigned flags = tile.ends[(begin + at) / 8] >> (at % 8);
#pragma unroll
    for (int e = 0; e < ttmc_in_flight; ++e) {
#pragma unroll
      for (int c = 0; c < Shape::columns; ++c) sums[c] += products[e] * static_cast<Sum>(numbers[e][c]);
      if ((flags >> e & 1) == 0) continue;
      Sum* to = output + tile.targets[begin + at + e] * arguments.row_numbers;
#pragma unroll
      for (int c = 0; c < Shape::columns; ++c, to += last.columns) {
        if (Shape::exact || c < width) atomicAdd(to, sums[c]);
        sums[c] = 0;
      }
    }
  }
}

// A lane's values of a tile, before and after they are multiplied.
template <class Sum, class Shape>
class TileValues {
 public:
  __device__ TileValues(const WarpTile& tile, int order, int lane)
      : entries_(tile.entries), bytes_of_entry_(static_cast<unsigned>(tile_entry_bytes(order))), lane_(lane) {
    for (int j = 0; j < lane_entries; ++j) given_[j] = *reinterpret_cast<const Sum*>(entry(j));
  }

  // Multiplies the given values by a column of each of the first `modes` other modes. All lanes may read the tile then.
  template <class Factor>
  __device__ void multiply(const TtmcArguments<Sum, Factor>& arguments, int modes, std::uint64_t choice) {
    LaneEntries<Sum> products;
    for (int j = 0; j < lane_entries; ++j) products[j] = given_[j];
    for (int k = modes; k-- > 0;) {
      const MatrixColumns<Factor> matrix = matrix_of(arguments, k);
      const auto column = static_cast<int>(choice % static_cast<unsigned>(matrix.columns));
      choice /= static_cast<unsigned>(matrix.columns);
      for (int j = 0; j < lane_entries; ++j) products[j] *= static_cast<Sum>(__ldg(matrix.from(column).at(entry(j))));
    }
    __syncwarp();
    for (int j = 0; j < lane_entries; ++j) *reinterpret_cast<Sum*>(entry(j)) = products[j];
    __syncwarp();
  }

 private:
  __device__ std::byte* entry(int j) const {
    return entries_ +
           place_of<group_share(Shape::lanes)>(static_cast<unsigned>(j * warp_lanes + lane_)) * bytes_of_entry_;
  }

  std::byte* entries_;
  unsigned bytes_of_entry_;
  int lane_;
  LaneEntries<Sum> given_;
};

// Adds a tile: all choices, a block at a time.
template <class Sum, class Factor, class Shape>
__device__ inline void add_products(const TtmcArguments<Sum, Factor>& arguments, const WarpTile& tile, int lane,
                                    Sum* output) {
  const int first_modes = arguments.order - 3;
  const MatrixColumns<Factor> middle = matrix_of(arguments, first_modes);
  const MatrixColumns<Factor> last = matrix_of(arguments, first_modes + 1);
  const int column = lane % Shape::lanes;
  const auto numbers = static_cast<std::uint64_t>(middle.columns) * static_cast<unsigned>(last.columns);
  TileValues<Sum, Shape> values(tile, arguments.order, lane);
#pragma unroll 1
  for (std::uint64_t choice = 0; choice * numbers < arguments.row_numbers; ++choice) {
    if (first_modes > 0) values.multiply(arguments, first_modes, choice);
    Sum* of_choice = output + choice * numbers;
#pragma unroll 1
    for (int m = 0; m < middle.columns; m += Shape::columns) {
#pragma unroll 1
      for (int l = column; l - column < last.columns; l += Shape::lanes) {
        add_choices<Sum, Factor, Shape>(arguments, tile, lane, middle.from(m),
                                        l < last.columns ? middle.columns - m : 0, last.from(l),
                                        of_choice + std::int64_t{m} * last.columns + l);
      }
    }
  }
}

template <class Sum, class Factor, class Shape>
__global__ void __launch_bounds__(mttkrp_threads, mttkrp_blocks_per_multiprocessor)
    ttmc_kernel(const __grid_constant__ TtmcArguments<Sum, Factor> arguments) {
  BLCO_DYNAMIC_SHARED(shared);
  const WarpPlace place;
  const BlockMemory<Sum> memory(arguments, place, tile_bytes(arguments.order, arguments.has_high_word), shared);
  const WarpTile tile = carve_tile(memory.of_warp, arguments.order);
  memory.load_tables(arguments);
  __syncthreads();

  Sum* copy = copy_of_block<Sum>(arguments);
  for_each_frame(arguments, place, [&](const ChunkPart& part, std::uint32_t frame) {
    prepare_tile<group_share(Shape::lanes), any_order>(arguments, part, memory.tables, tile, frame, place.lane);
    add_products<Sum, Factor, Shape>(arguments, tile, place.lane, copy);
    __syncwarp();
  });
}

// The kernel of a group of lanes for the last matrix, and of so many columns of the middle one per lane. Exact: both
// matrices have a multiple of these.
template <class Sum, class Factor, int Lanes, int Columns, bool Exact>
TtmcKernel<Sum, Factor> ttmc_kernel_of_kind() {
  return ttmc_kernel<Sum, Factor, KernelShape<Lanes, Columns, Exact, false>>;
}

}  // namespace blco::cuda
