// short_rows.cuh: A = M V^-1 for rows of up to 128 numbers, each in the registers of 1, 2, 4 or 8 lanes.
//
// A block takes a slab of rows. Each warp moves 32 / Lanes rows at a time through shared memory: it reads global memory
// along rows, and fills registers across them. The solve goes column by column: once a number of the solution is known,
// all lanes of its row subtract its contribution from their unsolved numbers.
#pragma once

#include "kernels/cuda/dense_parts.cuh"

namespace blco::cuda {

constexpr int short_row_warps = 4;

// The column of a lane's number q. Lanes own adjacent pairs, so that they read the matrix in pairs.
template <int Lanes>
__device__ constexpr int column_of(int q, int part) {
  return (q / 2 * Lanes + part) * 2 + q % 2;
}

// Number q of lane `part` among the lanes of the same row.
template <int Lanes>
__device__ inline double number_of(double own, int part) {
  if constexpr (Lanes == 1) {
    return own;
  } else {
    return __shfl_sync(whole_warp, own, part, Lanes);
  }
}

// Visits numbers 0 to count - 1 of consecutive rows, and their places in a tile whose rows are `stride` apart.
template <class Visit>
__device__ inline void visit_tile(int count, int rank, int stride, int lane, const Visit& visit) {
  int row = lane / rank;
  int column = lane % rank;
  const int row_step = warp_threads / rank;
  const int column_step = warp_threads % rank;
  for (int i = lane; i < count; i += warp_threads) {
    visit(i, row * stride + column);
    row += row_step;
    column += column_step;
    if (column >= rank) {
      column -= rank;
      ++row;
    }
  }
}

// Solves one number, number q of lane `owner`, and subtracts its contribution from the unsolved ones. `line` is the
// matrix row of its column. It is read by plain loads, so that the compiler does not hoist them out of the loop over
// rows, where they would take all registers.
template <int Lanes, bool Forward>
__device__ inline void eliminate(const double* line, int q, int owner, int part, double (&x)[numbers_of_lane]) {
  const int pair = q / 2 * 2;
  const double solved = number_of<Lanes>(x[q], owner) * line[column_of<Lanes>(q, owner)];
  const double* own = line + 2 * part;
  const Pair near = pair_at(own + pair * Lanes);
  const bool whole_pair = Forward ? part > owner : part < owner;
  const bool first = whole_pair || (!Forward && part == owner && q % 2 == 1);
  const bool second = whole_pair || (Forward && part == owner && q % 2 == 0);
  x[pair] -= near.first * (first ? solved : 0.0);
  x[pair + 1] -= near.second * (second ? solved : 0.0);
  if (part == owner) x[q] = solved;
#pragma unroll
  for (int other = Forward ? pair + 2 : 0; other < (Forward ? numbers_of_lane : pair); other += 2) {
    const Pair far = pair_at(own + other * Lanes);
    x[other] -= far.first * solved;
    x[other + 1] -= far.second * solved;
  }
}

template <int Lanes>
__device__ inline void substitute(const double* matrix, int part, double (&x)[numbers_of_lane]) {
  constexpr int columns = numbers_of_lane * Lanes;
#pragma unroll
  for (int q = 0; q < numbers_of_lane; q += 2) {
#pragma unroll 1
    for (int owner = 0; owner < Lanes; ++owner) {
      const double* line = matrix + column_of<Lanes>(q, owner) * columns;
      eliminate<Lanes, true>(line, q, owner, part, x);
      eliminate<Lanes, true>(line + columns, q + 1, owner, part, x);
    }
  }
  __syncwarp();  // stops the compiler from keeping the matrix's numbers in registers
#pragma unroll
  for (int q = numbers_of_lane - 2; q >= 0; q -= 2) {
#pragma unroll 1
    for (int owner = Lanes - 1; owner >= 0; --owner) {
      const double* line = matrix + column_of<Lanes>(q, owner) * columns;
      eliminate<Lanes, false>(line + columns, q + 1, owner, part, x);
      eliminate<Lanes, false>(line, q, owner, part, x);
    }
  }
}

// x = the row in shared memory times the symmetric matrix.
template <int Lanes>
__device__ inline void multiply(const double* matrix, int part, const double* row, double (&x)[numbers_of_lane]) {
  constexpr int columns = numbers_of_lane * Lanes;
#pragma unroll
  for (int q = 0; q < numbers_of_lane; ++q) x[q] = 0;
#pragma unroll 2
  for (int j = 0; j < columns; ++j) {
    const double given = row[j];
    const double* own = matrix + j * columns + 2 * part;
#pragma unroll
    for (int q = 0; q < numbers_of_lane; q += 2) {
      const Pair pair = pair_at(own + q * Lanes);
      x[q] += pair.first * given;
      x[q + 1] += pair.second * given;
    }
  }
}

// Adds the squares of a tile's columns, one lane per column.
template <int Lanes>
__device__ inline void add_squares(const double* tile, int lane, double* squares) {
  constexpr int columns = numbers_of_lane * Lanes;
#pragma unroll
  for (int column = 0; column < columns; column += warp_threads) {
    if (column + lane >= columns) continue;
    double sum = 0;
#pragma unroll
    for (int row = 0; row < warp_threads / Lanes; ++row) {
      const double number = tile[row * (columns + 1) + column + lane];
      sum += number * number;
    }
    squares[column / warp_threads] += sum;
  }
}

// partial[slab * (rank + 1) + r]: the sums of solve_rows, for one slab.
template <class Real, int Lanes, bool Cholesky>
__global__ void __launch_bounds__(short_row_warps* warp_threads, 4)
    solve_short_rows_kernel(const Real* __restrict__ output, std::uint64_t rows, std::uint64_t slab_rows, int rank,
                            const double* matrix, Real* __restrict__ factor, double* partial) {
  constexpr int held = warp_threads / Lanes;
  constexpr int columns = numbers_of_lane * Lanes;
  constexpr int stride = columns + 1;
  __shared__ double tiles[short_row_warps][held * stride];
  const int lane = static_cast<int>(threadIdx.x) % warp_threads;
  const int warp = static_cast<int>(threadIdx.x) / warp_threads;
  const int part = lane % Lanes;
  double* tile = tiles[warp];
  double* row = tile + lane / Lanes * stride;
  for (int i = lane; i < held * stride; i += warp_threads) tile[i] = 0;
  __syncwarp();

  double squares[(columns + warp_threads - 1) / warp_threads] = {};  // columns lane, lane + 32, ...
  double inner = 0;
  const std::uint64_t end = min(rows, (std::uint64_t{blockIdx.x} + 1) * slab_rows);
  for (std::uint64_t first = blockIdx.x * slab_rows + static_cast<std::uint64_t>(warp * held); first < end;
       first += short_row_warps * held) {
    const std::uint64_t start = first * static_cast<std::uint64_t>(rank);
    const int count = static_cast<int>(min(static_cast<std::uint64_t>(held), end - first)) * rank;
    visit_tile(held * rank, rank, stride, lane, [&](int from, int at) {
      tile[at] = from < count ? static_cast<double>(output[start + static_cast<unsigned>(from)]) : 0.0;
    });
    __syncwarp();
    double x[numbers_of_lane];
    if constexpr (Cholesky) {
#pragma unroll
      for (int q = 0; q < numbers_of_lane; ++q) x[q] = row[column_of<Lanes>(q, part)];
      substitute<Lanes>(matrix, part, x);
    } else {
      multiply<Lanes>(matrix, part, row, x);
      __syncwarp();
    }
#pragma unroll
    for (int q = 0; q < numbers_of_lane; ++q) {
      double& place = row[column_of<Lanes>(q, part)];
      inner += place * x[q];
      place = x[q];
    }
    __syncwarp();
    add_squares<Lanes>(tile, lane, squares);
    visit_tile(count, rank, stride, lane,
               [&](int to, int at) { factor[start + static_cast<unsigned>(to)] = static_cast<Real>(tile[at]); });
    __syncwarp();
  }

  // Adds the warps' sums in the order of the warps.
#pragma unroll
  for (int column = 0; column < columns; column += warp_threads) {
    if (column + lane < columns) tile[column + lane] = squares[column / warp_threads];
  }
  inner = sum_of_warp(inner);
  if (lane == 0) tile[columns] = inner;
  __syncthreads();
  double* sums = partial + std::uint64_t{blockIdx.x} * static_cast<std::uint64_t>(rank + 1);
  for (int at = static_cast<int>(threadIdx.x); at <= rank; at += short_row_warps * warp_threads) {
    double sum = 0;
    for (int other = 0; other < short_row_warps; ++other) sum += tiles[other][at < rank ? at : columns];
    sums[at] = sum;
  }
}

}  // namespace blco::cuda
