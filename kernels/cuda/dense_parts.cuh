// Shared by the dense kernels: pairs of numbers, sums over lanes and over slabs, and elementwise launch shapes.
#pragma once

#include <algorithm>

#include "kernels/cuda/dense.hpp"
#include "kernels/cuda/launch.cuh"

namespace blco::cuda {

constexpr int warp_threads = 32;
constexpr unsigned whole_warp = 0xffffffffu;

// Two f64 numbers, loaded together.
struct alignas(16) Pair {
  double first;
  double second;
};
__device__ inline Pair pair_at(const double* numbers) { return *reinterpret_cast<const Pair*>(numbers); }

// Every lane gets the sum.
__device__ inline double sum_of_warp(double own) {
#pragma unroll
  for (int step = 1; step < warp_threads; step *= 2) own += __shfl_xor_sync(whole_warp, own, step);
  return own;
}

constexpr int entries_of_sum_block = 32;
constexpr int ways_of_sum_block = 8;
constexpr unsigned sum_threads = entries_of_sum_block * ways_of_sum_block;

inline LaunchShape slab_sum_shape(std::uint64_t entries) {
  return {static_cast<unsigned>((entries + entries_of_sum_block - 1) / entries_of_sum_block), sum_threads, 0};
}

// The sum over slabs of partial[slab * stride + at], in a fixed order. Call from all threads of a block: each group of
// 8 threads, 32 apart, shares an entry, and its first thread gets the sum.
__device__ inline double sum_of_slabs(const double* partial, std::uint64_t slabs, std::uint64_t stride,
                                      std::uint64_t at) {
  __shared__ double parts[ways_of_sum_block][entries_of_sum_block];
  const unsigned entry = threadIdx.x % entries_of_sum_block;
  const unsigned way = threadIdx.x / entries_of_sum_block;
  double sum = 0;
#pragma unroll 8
  for (std::uint64_t slab = way; slab < slabs; slab += ways_of_sum_block) sum += __ldg(partial + slab * stride + at);
  parts[way][entry] = sum;
  __syncthreads();
  sum = 0;
  if (way == 0) {
    for (int other = 0; other < ways_of_sum_block; ++other) sum += parts[other][entry];
  }
  return sum;
}

constexpr unsigned elementwise_threads = 256;

inline LaunchShape elementwise_shape(std::uint64_t count) {
  constexpr std::uint64_t max_blocks = 1024;  // as many threads as a large device runs at once
  const std::uint64_t blocks = (count + elementwise_threads - 1) / elementwise_threads;
  return {static_cast<unsigned>(std::min(blocks, max_blocks)), elementwise_threads, 0};
}

}  // namespace blco::cuda
