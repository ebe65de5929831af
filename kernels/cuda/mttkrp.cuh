// mttkrp.cuh: output[i_n, r] += value * prod_{m != n} A_m[i_m, r], over the nonzeros (i_1, ..., i_N; value) of a chunk.
//
// Nguyen et al., ICS 2022, section 5: a warp decodes and reorders a tile (tile.cuh). Then groups of lanes run along the
// rank, each over its share of the tile, and add in registers while the row stays the same. At the end of a segment,
// register-based resolution adds to global memory; hierarchical resolution adds to a stash in shared memory, which the
// block finally adds to one of several copies of the output.
#pragma once

#include "kernels/cuda/tile.cuh"

namespace blco::cuda {

// Nonzeros whose factor rows a lane loads at once.
constexpr int entries_in_flight = 4;
constexpr int mttkrp_threads = static_cast<int>(max_mttkrp_warps) * warp_lanes;
constexpr int mttkrp_blocks_per_multiprocessor = 3;

// Destination of a segment's sums.
template <class Real, bool Stashed>
struct SegmentSink {
  Real* copy;   // of the output, in global memory
  Real* stash;  // stash_rows x rank, in shared memory
  std::uint64_t stash_first;
  std::uint32_t stash_rows;

  __device__ void add(std::uint32_t row, int column, int rank, Real sum) const {
    if constexpr (Stashed) {
      const std::uint64_t place = row - stash_first;  // wraps around if row < stash_first
      if (place < stash_rows) {
        atomicAdd(&stash[place * static_cast<std::uint64_t>(rank) + static_cast<std::uint64_t>(column)], sum);
        return;
      }
    }
    atomicAdd(&copy[std::uint64_t{row} * static_cast<std::uint64_t>(rank) + static_cast<std::uint64_t>(column)], sum);
  }
};

// Processes Lanes x Columns columns at once: lane l of a group holds columns first + l + c * Lanes. Exact: the rank
// equals Lanes * Columns.
template <class Real, int Lanes, int Columns, bool Exact, bool Stashed>
__device__ inline void add_columns(const MttkrpArguments<Real>& arguments, const WarpTile& tile, int count, int lane,
                                   int first, const SegmentSink<Real, Stashed>& sink) {
  constexpr int share = frame_entries * Lanes / warp_lanes;  // entries per group
  const int rank = Exact ? Lanes * Columns : arguments.rank;
  const int column = first + lane % Lanes;
  const int begin = lane / Lanes * share;
  const int end = begin + share < count ? begin + share : count;
  const Real* values = reinterpret_cast<const Real*>(tile.low);
  const std::uint32_t* targets = tile.rows + arguments.mode * frame_entries;

  Real sums[Columns] = {};
  for (int at = begin; at < end; at += entries_in_flight) {
    Real products[entries_in_flight][Columns];
#pragma unroll
    for (int e = 0; e < entries_in_flight; ++e) {
#pragma unroll
      for (int c = 0; c < Columns; ++c) products[e][c] = values[at + e];
    }
    for (int mode = 0; mode < arguments.order; ++mode) {
      if (mode == arguments.mode) continue;
      const Real* factor = arguments.factors[mode] + column;
      const std::uint32_t* rows = tile.rows + mode * frame_entries + at;
#pragma unroll
      for (int e = 0; e < entries_in_flight; ++e) {
        const Real* row = factor + std::uint64_t{rows[e]} * static_cast<std::uint64_t>(rank);
#pragma unroll
        for (int c = 0; c < Columns; ++c) {
          if (Exact || column + c * Lanes < rank) products[e][c] *= __ldg(row + c * Lanes);
        }
      }
    }
    const std::uint32_t ends = tile.ends[at / warp_lanes] >> (at % warp_lanes);
#pragma unroll
    for (int e = 0; e < entries_in_flight; ++e) {
      if (at + e >= end) break;
#pragma unroll
      for (int c = 0; c < Columns; ++c) sums[c] += products[e][c];
      if ((ends >> e & 1) == 0 && at + e + 1 < end) continue;
#pragma unroll
      for (int c = 0; c < Columns; ++c) {
        if (Exact || column + c * Lanes < rank) sink.add(targets[at + e], column + c * Lanes, rank, sums[c]);
        sums[c] = 0;
      }
    }
  }
}

// Processes as many blocks of Lanes * Columns columns as the rank needs.
template <class Real, int Lanes, int Columns, bool Exact, bool Stashed>
__device__ inline void add_tile(const MttkrpArguments<Real>& arguments, const WarpTile& tile, int count, int lane,
                                const SegmentSink<Real, Stashed>& sink) {
  if constexpr (Exact) {
    add_columns<Real, Lanes, Columns, true, Stashed>(arguments, tile, count, lane, 0, sink);
  } else {
    for (int first = 0; first < arguments.rank; first += Lanes * Columns) {
      add_columns<Real, Lanes, Columns, false, Stashed>(arguments, tile, count, lane, first, sink);
    }
  }
}

template <class Real, int Lanes, int Columns, bool Exact, bool Stashed>
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
    const int count = prepare_tile(arguments, tables, tile, frame, lane);
    add_tile<Real, Lanes, Columns, Exact, Stashed>(arguments, tile, count, lane, sink);
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

// Launches the kernel variant of one column shape.
template <class Real, int Lanes, int Columns, bool Exact>
void launch_kind(const MttkrpArguments<Real>& arguments, const MttkrpShape& shape, cudaStream_t stream) {
  const LaunchShape launch_shape{shape.blocks, shape.warps * warp_lanes, shape.shared_bytes};
  if (arguments.stash_rows > 0) {
    launch("mttkrp (hierarchical)", mttkrp_kernel<Real, Lanes, Columns, Exact, true>, launch_shape, stream, arguments);
  } else {
    launch("mttkrp (register-based)", mttkrp_kernel<Real, Lanes, Columns, Exact, false>, launch_shape, stream,
           arguments);
  }
}

// Ranks 8, 16, 24, 32, 48 and 64 are compiled in. Other small ranks use the narrowest group that holds them, so that
// the warp's other lanes process other entries; other large ranks run in blocks of 32 or 64 columns.
template <class Real>
void launch_mttkrp(const MttkrpArguments<Real>& arguments, const MttkrpShape& shape, cudaStream_t stream) {
  switch (arguments.rank) {
    case 8:
      return launch_kind<Real, 8, 1, true>(arguments, shape, stream);
    case 16:
      return launch_kind<Real, 16, 1, true>(arguments, shape, stream);
    case 24:
      return launch_kind<Real, 8, 3, true>(arguments, shape, stream);
    case 32:
      return launch_kind<Real, 16, 2, true>(arguments, shape, stream);
    case 48:
      return launch_kind<Real, 16, 3, true>(arguments, shape, stream);
    case 64:
      return launch_kind<Real, 32, 2, true>(arguments, shape, stream);
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
