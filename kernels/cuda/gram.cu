// gram.cu: G = A^T A, in f64. A block takes a slab of rows and a tile of G on or above its diagonal; the tiles of all
// slabs are then added in the order of the slabs.
#include "kernels/cuda/dense_parts.cuh"

namespace blco::cuda {
namespace {

constexpr int gram_threads = 256;
constexpr int strip_numbers = 1024;  // of A in shared memory at a time, for one side of the tile
constexpr int small_tile = 16;       // for ranks up to 16
constexpr int tile_side = 32;
constexpr int micro = 4;  // a thread sums 4 x 4 entries

// Tile t, counted row by row, of the upper triangle of a matrix of `across` x `across` tiles.
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

// Loads columns [first, first + Tile) of a strip of rows from global to shared memory, through registers. Zero outside
// the matrix.
template <class Real, int Tile>
struct Strip {
  static constexpr int rows = strip_numbers / Tile;
  static constexpr int own = strip_numbers / gram_threads;

  __device__ void load(const Real* from, std::uint64_t count, int rank, int first) {
#pragma unroll
    for (int i = 0; i < own; ++i) {
      const int at = static_cast<int>(threadIdx.x) + i * gram_threads;
      const int row = at / Tile;
      const int column = first + at % Tile;
      const bool there = static_cast<std::uint64_t>(row) < count && column < rank;
      numbers[i] = there ? __ldg(from + static_cast<std::int64_t>(row) * rank + column) : Real{0};
    }
  }
  __device__ void store(double* to) const {
#pragma unroll
    for (int i = 0; i < own; ++i) {
      to[static_cast<int>(threadIdx.x) + i * gram_threads] = static_cast<double>(numbers[i]);
    }
  }

  Real numbers[own];
};

// Threads form groups that take every Groups-th row of a strip. Thread (a, b) of a group sums the entries in rows 2a,
// 2a + 1 and Tile / 2 further on, and columns 2b, 2b + 1 and Tile / 2 further on: pairs that use all banks.
template <int Tile>
struct Place {
  static constexpr int across = Tile / micro;
  static constexpr int groups = gram_threads / (across * across);

  int group = static_cast<int>(threadIdx.x) / (across * across);
  int a = static_cast<int>(threadIdx.x) / across % across;
  int b = static_cast<int>(threadIdx.x) % across;

  __device__ static int entry(int own, int i) { return i / 2 * (Tile / 2) + 2 * own + i % 2; }
};

template <int Tile>
__device__ inline void add_products(const double* left, const double* right, const Place<Tile>& place,
                                    double (&sums)[micro][micro]) {
#pragma unroll
  for (int row = 0; row < strip_numbers / Tile; row += Place<Tile>::groups) {
    const double* mine = left + (row + place.group) * Tile + 2 * place.a;
    const double* other = right + (row + place.group) * Tile + 2 * place.b;
    const Pair pairs[4] = {pair_at(mine), pair_at(mine + Tile / 2), pair_at(other), pair_at(other + Tile / 2)};
    const double down[micro] = {pairs[0].first, pairs[0].second, pairs[1].first, pairs[1].second};
    const double across[micro] = {pairs[2].first, pairs[2].second, pairs[3].first, pairs[3].second};
#pragma unroll
    for (int i = 0; i < micro; ++i) {
#pragma unroll
      for (int j = 0; j < micro; ++j) sums[i][j] += down[i] * across[j];
    }
  }
}

// Adds the sums of all groups, in order, into `total`.
template <int Tile>
__device__ inline void add_groups(const Place<Tile>& place, const double (&sums)[micro][micro], double* total) {
  for (int group = 0; group < Place<Tile>::groups; ++group) {
    if (place.group == group) {
#pragma unroll
      for (int i = 0; i < micro; ++i) {
#pragma unroll
        for (int j = 0; j < micro; ++j) {
          double& entry = total[Place<Tile>::entry(place.a, i) * Tile + Place<Tile>::entry(place.b, j)];
          entry = (group == 0 ? 0.0 : entry) + sums[i][j];
        }
      }
    }
    __syncthreads();
  }
}

// partial[slab]: R x R, upper triangle only.
template <class Real, int Tile>
__global__ void __launch_bounds__(gram_threads, 3) gram_kernel(const Real* __restrict__ factor, std::uint64_t rows,
                                                               std::uint64_t slab_rows, int rank, double* partial) {
  alignas(16) __shared__ double strips[2][strip_numbers];
  const int tiles_across = (rank + Tile - 1) / Tile;
  const unsigned tiles = static_cast<unsigned>(tiles_across * (tiles_across + 1) / 2);
  const GramTile tile = gram_tile(static_cast<int>(blockIdx.x % tiles), tiles_across);
  const std::uint64_t slab = blockIdx.x / tiles;
  const std::uint64_t end = min(rows, (slab + 1) * slab_rows);
  const bool diagonal = tile.row == tile.column;
  const Place<Tile> place;

  double sums[micro][micro] = {};
  Strip<Real, Tile> left;
  Strip<Real, Tile> right;
  const auto load = [&](std::uint64_t first) {
    const Real* from = factor + first * static_cast<std::uint64_t>(rank);
    left.load(from, end - first, rank, tile.row * Tile);
    if (!diagonal) right.load(from, end - first, rank, tile.column * Tile);
  };
  std::uint64_t first = slab * slab_rows;
  if (first < end) load(first);
  while (first < end) {
    left.store(strips[0]);
    if (!diagonal) right.store(strips[1]);
    __syncthreads();
    first += Strip<Real, Tile>::rows;
    if (first < end) load(first);
    add_products<Tile>(strips[0], diagonal ? strips[0] : strips[1], place, sums);
    __syncthreads();
  }

  add_groups<Tile>(place, sums, strips[0]);
  const auto columns = static_cast<std::uint64_t>(rank);
  for (int i = static_cast<int>(threadIdx.x); i < Tile * Tile; i += gram_threads) {
    const int j = tile.row * Tile + i / Tile;
    const int k = tile.column * Tile + i % Tile;
    if (j > k || k >= rank) continue;
    partial[(slab * columns + static_cast<std::uint64_t>(j)) * columns + static_cast<std::uint64_t>(k)] = strips[0][i];
  }
}

// Adds the slabs' upper triangles and mirrors the sum.
__global__ void add_grams_kernel(const double* partial, std::uint64_t slabs, unsigned rank, double* result) {
  const unsigned count = rank * rank;
  const unsigned i = blockIdx.x * entries_of_sum_block + threadIdx.x % entries_of_sum_block;
  const unsigned entry = min(i, count - 1);
  const unsigned j = min(entry / rank, entry % rank);
  const unsigned k = max(entry / rank, entry % rank);
  const double sum = sum_of_slabs(partial, slabs, count, j * rank + k);
  if (threadIdx.x < entries_of_sum_block && i < count) result[i] = sum;
}

template <int Tile, class Real>
void launch_gram(const Real* factor, std::uint64_t rows, int rank, double* partial, cudaStream_t stream) {
  const Slabs slabs = gram_slabs(rows, rank);
  const int across = (rank + Tile - 1) / Tile;
  const auto tiles = static_cast<std::uint64_t>(across) * static_cast<std::uint64_t>(across + 1) / 2;
  launch("gram", gram_kernel<Real, Tile>, {static_cast<unsigned>(tiles * slabs.count), gram_threads, 0}, stream, factor,
         rows, slabs.rows, rank, partial);
}

}  // namespace

template <class Real>
void gram(const Real* factor, std::uint64_t rows, int rank, double* result, void* scratch, cudaStream_t stream) {
  auto* partial = static_cast<double*>(scratch);
  if (rank <= small_tile) {
    launch_gram<small_tile>(factor, rows, rank, partial, stream);
  } else {
    launch_gram<tile_side>(factor, rows, rank, partial, stream);
  }
  const auto columns = static_cast<unsigned>(rank);
  launch("add Grams", add_grams_kernel, slab_sum_shape(std::uint64_t{columns} * columns), stream, partial,
         gram_slabs(rows, rank).count, columns, result);
}

template void gram(const double*, std::uint64_t, int, double*, void*, cudaStream_t);
template void gram(const float*, std::uint64_t, int, double*, void*, cudaStream_t);

}  // namespace blco::cuda
