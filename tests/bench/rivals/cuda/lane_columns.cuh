// Rows of factors and outputs as the rivals' kernels see them: a group of lanes has a row, each lane some columns of
// it.
#pragma once

#include <cstdint>

#include "kernels/cuda/launch.cuh"
#include "tests/bench/rivals/rival.hpp"

namespace blco::cuda {

// Tensors of orders 3 to 5 have kernels of their own.
inline constexpr int rival_any_order = 0;
// Nonzeros whose factor rows are on their way at once.
inline constexpr int rival_in_flight = 4;

// How the columns of a rank are given to lanes. A rank above lanes * columns takes several rounds.
struct ColumnShape {
  int lanes = 32;   // of a group: a power of two
  int columns = 1;  // of a lane
};

// A warp has a row (Nisa et al., 2019). At smaller ranks it has several, so that no lane is idle; from 33 columns on a
// lane has two, so that indices are read once for 64.
constexpr ColumnShape warp_columns(int rank) {
  int lanes = 1;
  while (lanes < rank && lanes < 32) lanes *= 2;
  return {lanes, rank > 32 ? 2 : 1};
}

// The columns of one lane in one round: first, first + lanes, ... as far as they are below the rank.
template <class T, int Columns>
struct LaneColumns {
  int first;
  int lanes;
  int rank;

  __device__ bool has(int c) const { return first + c * lanes < rank; }
  __device__ std::uint64_t start_of(std::uint32_t row) const {
    return std::uint64_t{row} * static_cast<std::uint64_t>(rank) + static_cast<std::uint64_t>(first);
  }

  // numbers *= row.
  __device__ void multiply(T (&numbers)[Columns], const T* matrix, std::uint32_t row) const {
    const T* from = matrix + start_of(row);
#pragma unroll
    for (int c = 0; c < Columns; ++c) numbers[c] *= has(c) ? __ldg(from + c * lanes) : T{0};
  }
  // sums += numbers * row.
  __device__ void add_product(T (&sums)[Columns], const T (&numbers)[Columns], const T* matrix,
                              std::uint32_t row) const {
    const T* from = matrix + start_of(row);
#pragma unroll
    for (int c = 0; c < Columns; ++c) sums[c] += numbers[c] * (has(c) ? __ldg(from + c * lanes) : T{0});
  }
  __device__ void add_atomically(T* matrix, std::uint32_t row, const T (&numbers)[Columns]) const {
    T* to = matrix + start_of(row);
#pragma unroll
    for (int c = 0; c < Columns; ++c) {
      if (has(c)) atomicAdd(to + c * lanes, numbers[c]);
    }
  }
  // For a row, still zero, that nothing else is added to.
  __device__ void store(T* matrix, std::uint32_t row, const T (&numbers)[Columns]) const {
    T* to = matrix + start_of(row);
#pragma unroll
    for (int c = 0; c < Columns; ++c) {
      if (has(c)) to[c * lanes] = numbers[c];
    }
  }
};

template <class T, int Columns>
__device__ inline void fill(T (&numbers)[Columns], T number) {
#pragma unroll
  for (int c = 0; c < Columns; ++c) numbers[c] = number;
}
template <class T, int Columns>
__device__ inline void add_to(T (&sums)[Columns], const T (&numbers)[Columns]) {
#pragma unroll
  for (int c = 0; c < Columns; ++c) sums[c] += numbers[c];
}

}  // namespace blco::cuda
