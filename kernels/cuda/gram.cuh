// gram.cuh: G = A^T A, in f64. A block takes a slab of rows and a tile of G on or above its diagonal; the tiles of all
// slabs are then added in the order of the slabs.
#pragma once

#include "kernels/cuda/dense.hpp"
#include "kernels/cuda/launch.cuh"

namespace blco::cuda {

constexpr int gram_threads = 256;
constexpr int gram_rows = 32;  // of A in shared memory at a time

// Tile t of the upper triangle, counted row by row, of a matrix of `across` x `across` tiles.
struct GramTile {
  int row;
  int column;
};
__device__ inline GramTile gram_tile(int t, int across) {
  int row = 0;
  while (t >= across - row) {
    t -= across - row;
    ++row;
  }
  return {row, row + t};
}

// Columns [first, first + Tile) of `count` rows into shared memory, zero where there are none.
template <class Real, int Tile>
__device__ inline void load_columns(const Real* rows, int count, int rank, int first, double (&to)[gram_rows][Tile]) {
  for (int i = static_cast<int>(threadIdx.x); i < gram_rows * Tile; i += gram_threads) {
    const int row = i / Tile;
    const int column = first + i % Tile;
    to[row][i % Tile] =
        row < count && column < rank
            ? static_cast<double>(rows[static_cast<std::uint64_t>(row) * static_cast<std::uint64_t>(rank) +
                                       static_cast<std::uint64_t>(column)])
            : 0.0;
  }
}

// Thread t sums entries (t / Tile + e * gram_threads / Tile, t % Tile) of its block's tile. Only columns >= rows of a
// tile on the diagonal are of use, but all are written.
template <class Real, int Tile>
__global__ void __launch_bounds__(gram_threads)
    gram_kernel(const Real* factor, std::uint64_t rows, std::uint64_t slab_rows, int rank, double* partial) {
  constexpr int entries = Tile * Tile / gram_threads;
  constexpr int step = gram_threads / Tile;
  __shared__ double left[gram_rows][Tile];
  __shared__ double right[gram_rows][Tile];
  const int tiles_across = (rank + Tile - 1) / Tile;
  const int tiles = tiles_across * (tiles_across + 1) / 2;
  const GramTile tile = gram_tile(static_cast<int>(blockIdx.x) % tiles, tiles_across);
  const std::uint64_t slab = blockIdx.x / static_cast<unsigned>(tiles);
  const std::uint64_t end = min(rows, (slab + 1) * slab_rows);
  const int across = static_cast<int>(threadIdx.x) % Tile;
  const int down = static_cast<int>(threadIdx.x) / Tile;

  double sums[entries] = {};
  for (std::uint64_t first = slab * slab_rows; first < end; first += gram_rows) {
    const int count = static_cast<int>(min(static_cast<std::uint64_t>(gram_rows), end - first));
    const Real* from = factor + first * static_cast<std::uint64_t>(rank);
    load_columns<Real, Tile>(from, count, rank, tile.row * Tile, left);
    load_columns<Real, Tile>(from, count, rank, tile.column * Tile, right);
    __syncthreads();
    for (int row = 0; row < count; ++row) {
      const double other = right[row][across];
#pragma unroll
      for (int e = 0; e < entries; ++e) sums[e] += left[row][down + e * step] * other;
    }
    __syncthreads();
  }

  const auto columns = static_cast<std::uint64_t>(rank);
  double* matrix = partial + slab * columns * columns;
#pragma unroll
  for (int e = 0; e < entries; ++e) {
    const int j = tile.row * Tile + down + e * step;
    const int k = tile.column * Tile + across;
    if (j < rank && k < rank) matrix[static_cast<std::uint64_t>(j) * columns + static_cast<std::uint64_t>(k)] = sums[e];
  }
}

// Adds the upper triangles of the slabs in their order, and mirrors the sum.
__global__ void add_grams_kernel(const double* partial, std::uint64_t slabs, int rank, double* result) {
  const auto columns = static_cast<std::uint64_t>(rank);
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < columns * columns; i += step) {
    const std::uint64_t j = min(i / columns, i % columns);
    const std::uint64_t k = max(i / columns, i % columns);
    double sum = 0;
    for (std::uint64_t slab = 0; slab < slabs; ++slab) sum += partial[(slab * columns + j) * columns + k];
    result[i] = sum;
  }
}

template <class Real, int Tile>
void launch_gram(const Real* factor, std::uint64_t rows, int rank, double* partial, cudaStream_t stream) {
  const Slabs slabs = gram_slabs(rows, rank);
  const int across = (rank + Tile - 1) / Tile;
  const auto tiles = static_cast<std::uint64_t>(across * (across + 1) / 2);
  launch("gram", gram_kernel<Real, Tile>, {static_cast<unsigned>(tiles * slabs.count), gram_threads, 0}, stream, factor,
         rows, slabs.rows, rank, partial);
}

template <class Real>
void gram(const Real* factor, std::uint64_t rows, int rank, double* result, void* scratch, cudaStream_t stream) {
  constexpr int small_tile = 16;
  constexpr int tile = 32;
  auto* partial = static_cast<double*>(scratch);
  if (rank <= small_tile) {
    launch_gram<Real, small_tile>(factor, rows, rank, partial, stream);
  } else {
    launch_gram<Real, tile>(factor, rows, rank, partial, stream);
  }
  const auto numbers = static_cast<unsigned>(rank) * static_cast<unsigned>(rank);
  launch("add Grams", add_grams_kernel, {(numbers + gram_threads - 1) / gram_threads, gram_threads, 0}, stream, partial,
         gram_slabs(rows, rank).count, rank, result);
}

}  // namespace blco::cuda
