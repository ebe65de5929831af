// long_rows.cuh: A = M V^-1 for rows of any length, in shared memory.
//
// A block takes a slab, `Held` rows at a time; its threads share the columns. Every thread solves a panel of four
// columns for itself, and subtracts its contribution from those of the thread's columns that are still unsolved.
#pragma once

#include "kernels/cuda/dense_parts.cuh"

namespace blco::cuda {

constexpr int long_row_threads = 256;

// Solves the columns [panel, panel + 4) of `tile` into y.
template <int Held, bool Forward>
__device__ inline void solve_panel(const double* corner, int columns, const double* tile,
                                   double (&y)[Held][panel_columns]) {
#pragma unroll
  for (int step = 0; step < panel_columns; ++step) {
    const int p = Forward ? step : panel_columns - 1 - step;
    const double* line = corner + static_cast<std::size_t>(p) * static_cast<std::size_t>(columns);
#pragma unroll
    for (int h = 0; h < Held; ++h) {
      double number = tile[h * columns + p];
#pragma unroll
      for (int before = 0; before < step; ++before) {
        const int other = Forward ? before : panel_columns - 1 - before;
        number -= __ldg(line + other) * y[h][other];
      }
      y[h][p] = number * __ldg(line + p);
    }
  }
}

// One of the two substitutions. Call from all threads of a block.
template <int Held, bool Forward>
__device__ inline void substitute_panels(const double* matrix, int columns, double* tile) {
  const auto line = static_cast<std::size_t>(columns);
  const int thread = static_cast<int>(threadIdx.x);
  for (int done = 0; done < columns; done += panel_columns) {
    const int panel = Forward ? done : columns - panel_columns - done;
    const double* lines = matrix + static_cast<std::size_t>(panel) * line;
    double y[Held][panel_columns];
    solve_panel<Held, Forward>(lines + panel, columns, tile + panel, y);
    __syncthreads();
#pragma unroll
    for (int p = 0; p < panel_columns; ++p) {
      if (thread != p) continue;
      for (int h = 0; h < Held; ++h) tile[h * columns + panel + p] = y[h][p];
    }
    const int end = Forward ? columns : panel;
    for (int k = (Forward ? panel + panel_columns : 0) + thread; k < end; k += long_row_threads) {
      double taken[Held] = {};
#pragma unroll
      for (int p = 0; p < panel_columns; ++p) {
        const double number = __ldg(lines + static_cast<std::size_t>(p) * line + k);
#pragma unroll
        for (int h = 0; h < Held; ++h) taken[h] += number * y[h][p];
      }
#pragma unroll
      for (int h = 0; h < Held; ++h) tile[h * columns + k] -= taken[h];
    }
    __syncthreads();
  }
}

// Column k of the product of the rows in `tile` and the symmetric matrix.
template <int Held>
__device__ inline void multiply_column(const double* matrix, int rank, int columns, const double* tile, int k,
                                       double (&x)[Held]) {
#pragma unroll
  for (int h = 0; h < Held; ++h) x[h] = 0;
  for (int j = 0; j < rank; ++j) {
    const double number = __ldg(matrix + static_cast<std::size_t>(j) * static_cast<std::size_t>(columns) + k);
#pragma unroll
    for (int h = 0; h < Held; ++h) x[h] += number * tile[h * columns + j];
  }
}

// partial[slab * (rank + 1) + r]: the sums of solve_rows, for one slab.
template <class Real, int Held, bool Cholesky>
__global__ void __launch_bounds__(long_row_threads)
    solve_long_rows_kernel(const Real* __restrict__ output, std::uint64_t rows, std::uint64_t slab_rows, int rank,
                           int columns, const double* __restrict__ matrix, Real* __restrict__ factor, double* partial) {
  BLCO_DYNAMIC_SHARED(shared);
  auto* tile = reinterpret_cast<double*>(shared);
  const int thread = static_cast<int>(threadIdx.x);
  double* sums = partial + std::uint64_t{blockIdx.x} * static_cast<std::uint64_t>(rank + 1);
  for (int k = thread; k < rank; k += long_row_threads) sums[k] = 0;

  double inner = 0;
  const std::uint64_t end = min(rows, (std::uint64_t{blockIdx.x} + 1) * slab_rows);
  for (std::uint64_t first = blockIdx.x * slab_rows; first < end; first += Held) {
    const int count = static_cast<int>(min(static_cast<std::uint64_t>(Held), end - first));
    const Real* from = output + first * static_cast<std::uint64_t>(rank);
    Real* to = factor + first * static_cast<std::uint64_t>(rank);
    for (int k = thread; k < columns; k += long_row_threads) {
      for (int h = 0; h < Held; ++h) {
        tile[h * columns + k] = h < count && k < rank ? static_cast<double>(from[h * rank + k]) : 0.0;
      }
    }
    __syncthreads();
    if constexpr (Cholesky) {
      substitute_panels<Held, true>(matrix, columns, tile);
      substitute_panels<Held, false>(matrix, columns, tile);
    }
    for (int k = thread; k < rank; k += long_row_threads) {
      double x[Held];
      if constexpr (Cholesky) {
#pragma unroll
        for (int h = 0; h < Held; ++h) x[h] = tile[h * columns + k];
      } else {
        multiply_column<Held>(matrix, rank, columns, tile, k, x);
      }
#pragma unroll
      for (int h = 0; h < Held; ++h) {
        if (h >= count) continue;
        inner += static_cast<double>(from[h * rank + k]) * x[h];
        sums[k] += x[h] * x[h];
        to[h * rank + k] = static_cast<Real>(x[h]);
      }
    }
    __syncthreads();
  }

  // Adds the warps' inner products in the order of the warps.
  inner = sum_of_warp(inner);
  if (thread % warp_threads == 0) tile[thread / warp_threads] = inner;
  __syncthreads();
  if (thread != 0) return;
  inner = 0;
  for (int warp = 0; warp < long_row_threads / warp_threads; ++warp) inner += tile[warp];
  sums[rank] = inner;
}

}  // namespace blco::cuda
