// mttkrp.cuh: output[i_n, r] += value * prod_{m != n} A_m[i_m, r], over the nonzeros (i_1, ..., i_N; value) of a chunk.
//
// Nguyen et al., ICS 2022, section 5: a warp decodes and reorders a tile (tile.cuh). Then groups of lanes run along the
// rank, each over its share of the tile, and add in registers while the row stays the same. At the end of a segment,
// register-based resolution adds to global memory; hierarchical resolution adds to a stash in shared memory, which the
// block finally adds to one of several copies of the output.
#pragma once

#include "kernels/cuda/tile.cuh"

namespace blco::cuda {

// Tensors of orders 3 to 5 have kernels of their own at common ranks: these load the rows of all modes before they
// multiply, so that the latencies of the loads overlap.
constexpr int any_order = 0;

// Nonzeros whose factor rows a lane loads at once: as many as fit its registers.
BLCO_HOST_DEVICE constexpr int entries_in_flight(int order, int columns) { return (order - 1) * columns > 4 ? 2 : 4; }

// Entries of a tile that each group of `lanes` lanes adds.
BLCO_HOST_DEVICE constexpr int group_share(int lanes) { return frame_entries * lanes / warp_lanes; }

constexpr int mttkrp_threads = static_cast<int>(max_mttkrp_warps) * warp_lanes;
constexpr int mttkrp_blocks_per_multiprocessor = static_cast<int>(max_resident_mttkrp_warps / max_mttkrp_warps);

// Destination of a segment's sums. `copy` and `stash` start at the column from which others are counted.
template <class Real, bool Stashed>
struct SegmentSink {
  Real* copy;   // of the output, in global memory
  Real* stash;  // stash_rows x rank, in shared memory
  std::uint64_t stash_first;
  std::uint32_t stash_rows;

  __device__ SegmentSink from_column(int column) const {
    return {copy + column, stash + column, stash_first, stash_rows};
  }

  __device__ void add(std::uint32_t row, int column, int rank, Real sum) const {
    if constexpr (Stashed) {
      const std::uint64_t place = row - stash_first;  // wraps around if row < stash_first
      if (place < stash_rows) {
        atomicAdd(stash + place * static_cast<std::uint64_t>(rank) + column, sum);
        return;
      }
    }
    atomicAdd(copy + std::uint64_t{row} * static_cast<std::uint64_t>(rank) + column, sum);
  }
};

// Loads columns 0, Lanes, 2 * Lanes, ... of `Count` rows, counted from the column at which `factor` starts. Columns
// from `width` on are not loaded, and count as 0.
template <int Lanes, bool Exact, class Real, int Count, int Columns>
__device__ inline void load_rows(const Real* factor, const std::uint32_t* rows, int rank, int width,
                                 Real (&numbers)[Count][Columns]) {
#pragma unroll
  for (int e = 0; e < Count; ++e) {
    const Real* row = factor + std::uint64_t{rows[e]} * static_cast<std::uint64_t>(rank);
#pragma unroll
    for (int c = 0; c < Columns; ++c) numbers[e][c] = Exact || c * Lanes < width ? __ldg(row + c * Lanes) : Real{0};
  }
}

template <class Real, int Count, int Columns>
__device__ inline void multiply(Real (&products)[Count][Columns], const Real (&numbers)[Count][Columns]) {
#pragma unroll
  for (int e = 0; e < Count; ++e) {
#pragma unroll
    for (int c = 0; c < Columns; ++c) products[e][c] *= numbers[e][c];
  }
}

// Processes Lanes x Columns columns at once: lane l of a group holds columns first + l + c * Lanes. Exact: the rank
// equals Lanes * Columns. Entries past the count have value 0 and row 0, and end no segment.
template <class Real, int Lanes, int Columns, int Order, bool Exact, bool Stashed>
__device__ inline void add_columns(const MttkrpArguments<Real>& arguments, const WarpTile& tile, int count, int lane,
                                   int first, const SegmentSink<Real, Stashed>& sink) {
  constexpr int share = group_share(Lanes);
  constexpr int in_flight = entries_in_flight(Order, Columns);
  constexpr int others = Order == any_order ? 1 : Order - 1;
  const int rank = Exact ? Lanes * Columns : arguments.rank;
  const int column = first + lane % Lanes;
  const int width = rank - column;
  const int begin = lane / Lanes * share;
  const int end = begin + share < count ? begin + share : count;
  const Real* values = reinterpret_cast<const Real*>(tile.low);
  const std::uint32_t* targets = tile.rows + arguments.mode * frame_entries;
  const SegmentSink<Real, Stashed> own_sink = sink.from_column(column);

  const Real* factors[others];
  const std::uint32_t* rows[others];
  if constexpr (Order != any_order) {
#pragma unroll
    for (int k = 0; k < others; ++k) {
      const int mode = k < arguments.mode ? k : k + 1;
      factors[k] = arguments.factors[mode] + column;
      rows[k] = tile.rows + mode * frame_entries;
    }
  }

  Real sums[Columns] = {};
#pragma unroll 1
  for (int at = begin; at < end; at += in_flight) {
    Real numbers[others][in_flight][Columns];
    if constexpr (Order != any_order) {
#pragma unroll
      for (int k = 0; k < others; ++k) load_rows<Lanes, Exact>(factors[k], rows[k] + at, rank, width, numbers[k]);
    }
    Real products[in_flight][Columns];
#pragma unroll
    for (int e = 0; e < in_flight; ++e) {
#pragma unroll
      for (int c = 0; c < Columns; ++c) products[e][c] = values[at + e];
    }
    if constexpr (Order != any_order) {
#pragma unroll
      for (int k = 0; k < others; ++k) multiply(products, numbers[k]);
    } else {
      for (int mode = 0; mode < arguments.order; ++mode) {
        if (mode == arguments.mode) continue;
        load_rows<Lanes, Exact>(arguments.factors[mode] + column, tile.rows + mode * frame_entries + at, rank, width,
                                numbers[0]);
        multiply(products, numbers[0]);
      }
    }
    const std::uint32_t ends = tile.ends[at / warp_lanes] >> (at % warp_lanes);
#pragma unroll
    for (int e = 0; e < in_flight; ++e) {
#pragma unroll
      for (int c = 0; c < Columns; ++c) sums[c] += products[e][c];
      if ((ends >> e & 1) == 0) continue;
#pragma unroll
      for (int c = 0; c < Columns; ++c) {
        if (Exact || c * Lanes < width) own_sink.add(targets[at + e], c * Lanes, rank, sums[c]);
        sums[c] = 0;
      }
    }
  }
}

// Processes as many blocks of Lanes * Columns columns as the rank needs.
template <class Real, int Lanes, int Columns, int Order, bool Exact, bool Stashed>
__device__ inline void add_tile(const MttkrpArguments<Real>& arguments, const WarpTile& tile, int count, int lane,
                                const SegmentSink<Real, Stashed>& sink) {
  const int rank = Exact ? Lanes * Columns : arguments.rank;
  for (int first = 0; first < rank; first += Lanes * Columns) {
    add_columns<Real, Lanes, Columns, Order, Exact, Stashed>(arguments, tile, count, lane, first, sink);
  }
}

template <class Real, int Lanes, int Columns, int Order, bool Exact, bool Stashed>
__global__ void __launch_bounds__(mttkrp_threads, mttkrp_blocks_per_multiprocessor)
    mttkrp_kernel(const __grid_constant__ MttkrpArguments<Real> arguments) {
  BLCO_DYNAMIC_SHARED(shared);
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const unsigned warp = threadIdx.x / warp_lanes;
  const unsigned warps = blockDim.x / warp_lanes;
  const bool has_key = arguments.key.bytes != nullptr;
  const std::size_t bytes_of_tile = tile_bytes(arguments.order, has_key);

  auto* tables = reinterpret_cast<std::uint64_t*>(shared);
  std::byte* tiles = shared + table_bytes(arguments.index_bytes);
  const WarpTile tile = carve_tile(tiles + warp * bytes_of_tile, arguments.order, has_key);
  Real* stash = reinterpret_cast<Real*>(tiles + warps * bytes_of_tile);
  const std::uint32_t stash_numbers = arguments.stash_rows * static_cast<std::uint32_t>(arguments.rank);

  for (unsigned i = threadIdx.x; i < 256u * static_cast<unsigned>(arguments.index_bytes); i += blockDim.x) {
    tables[i] = arguments.byte_tables[i];
  }
  if constexpr (Stashed) {
    for (std::uint32_t i = threadIdx.x; i < stash_numbers; i += blockDim.x) stash[i] = 0;
  }
  __syncthreads();

  const unsigned copy_number = blockIdx.x % static_cast<unsigned>(arguments.copy_count);
  Real* copy = copy_number == 0 ? arguments.output : arguments.more_copies + (copy_number - 1) * arguments.copy_stride;
  const SegmentSink<Real, Stashed> sink{copy, stash, arguments.stash_first, arguments.stash_rows};
  const std::uint64_t frames = (std::uint64_t{arguments.nnz} + frame_entries - 1) / frame_entries;
  for (std::uint64_t frame = std::uint64_t{blockIdx.x} * warps + warp; frame < frames; frame += gridDim.x * warps) {
    const int count = prepare_tile(arguments, tables, tile, frame, lane, group_share(Lanes));
    add_tile<Real, Lanes, Columns, Order, Exact, Stashed>(arguments, tile, count, lane, sink);
    __syncwarp();
  }

  if constexpr (Stashed) {
    __syncthreads();
    Real* window = copy + arguments.stash_first * static_cast<std::uint64_t>(arguments.rank);
    for (std::uint32_t i = threadIdx.x; i < stash_numbers; i += blockDim.x) {
      if (stash[i] != Real{0}) atomicAdd(&window[i], stash[i]);
    }
  }
}

template <class Real, int Lanes, int Columns, int Order, bool Exact, bool Stashed>
void launch_kernel(const MttkrpArguments<Real>& arguments, const MttkrpShape& shape, cudaStream_t stream) {
  const LaunchShape launch_shape{shape.blocks, shape.warps * warp_lanes, shape.shared_bytes};
  launch(Stashed ? "mttkrp (hierarchical)" : "mttkrp (register-based)",
         mttkrp_kernel<Real, Lanes, Columns, Order, Exact, Stashed>, launch_shape, stream, arguments);
}

// Launches the kernel of one kind of rank, for any order.
template <class Real, int Lanes, int Columns, bool Exact>
void launch_kind(const MttkrpArguments<Real>& arguments, const MttkrpShape& shape, cudaStream_t stream) {
  if (arguments.stash_rows > 0) {
    launch_kernel<Real, Lanes, Columns, any_order, Exact, true>(arguments, shape, stream);
  } else {
    launch_kernel<Real, Lanes, Columns, any_order, Exact, false>(arguments, shape, stream);
  }
}

// Launches the kernel of a common rank, Lanes * Columns.
template <class Real, int Lanes, int Columns>
void launch_common(const MttkrpArguments<Real>& arguments, const MttkrpShape& shape, cudaStream_t stream) {
  if (arguments.stash_rows == 0) {
    switch (arguments.order) {
      case 3:
        return launch_kernel<Real, Lanes, Columns, 3, true, false>(arguments, shape, stream);
      case 4:
        return launch_kernel<Real, Lanes, Columns, 4, true, false>(arguments, shape, stream);
      case 5:
        return launch_kernel<Real, Lanes, Columns, 5, true, false>(arguments, shape, stream);
      default:
        break;
    }
  }
  launch_kind<Real, Lanes, Columns, true>(arguments, shape, stream);
}

// Ranks 8, 16, 24, 32, 48 and 64 are compiled in. Other small ranks use the narrowest group that holds them, so that
// the warp's other lanes process other entries; other large ranks run in blocks of 32 or 64 columns.
template <class Real>
void launch_mttkrp(const MttkrpArguments<Real>& arguments, const MttkrpShape& shape, cudaStream_t stream) {
  switch (arguments.rank) {
    case 8:
      return launch_kind<Real, 8, 1, true>(arguments, shape, stream);
    case 16:
      return launch_common<Real, 16, 1>(arguments, shape, stream);
    case 24:
      return launch_kind<Real, 8, 3, true>(arguments, shape, stream);
    case 32:
      return launch_common<Real, 16, 2>(arguments, shape, stream);
    case 48:
      return launch_kind<Real, 16, 3, true>(arguments, shape, stream);
    case 64:
      return launch_common<Real, 32, 2>(arguments, shape, stream);
    default:
      break;
  }
  if (arguments.rank == 1) return launch_kind<Real, 1, 1, true>(arguments, shape, stream);
  if (arguments.rank == 2) return launch_kind<Real, 2, 1, true>(arguments, shape, stream);
  if (arguments.rank <= 4) return launch_kind<Real, 4, 1, false>(arguments, shape, stream);
  if (arguments.rank <= 8) return launch_kind<Real, 8, 1, false>(arguments, shape, stream);
  if (arguments.rank <= 16) return launch_kind<Real, 16, 1, false>(arguments, shape, stream);
  if (arguments.rank <= 32) return launch_kind<Real, 32, 1, false>(arguments, shape, stream);
  launch_kind<Real, 32, 2, false>(arguments, shape, stream);
}

}  // namespace blco::cuda
