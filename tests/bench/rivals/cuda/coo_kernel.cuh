// COO: output[i_n] += value * prod_{m != n} A_m[i_m] over all nonzeros.
//
// GenTen's kernel for GPUs (Phipps and Kolda, SISC 2019): a group of lanes takes 128 nonzeros, the lanes are columns,
// products stay in registers. Every product is added atomically; or, with a permutation that sorts nonzeros by the
// target's index, those of a row are added up, and only the first and the last row of a group's nonzeros, which other
// groups may have too, are added atomically.
#pragma once

#include "tests/bench/rivals/cuda/lane_columns.cuh"

namespace blco::cuda {

inline constexpr unsigned coo_threads = 128;
inline constexpr std::uint64_t coo_group_nonzeros = 128;

// Passed by value. Position 0 is the target mode, the others follow in any order.
template <class T>
struct CooArguments {
  const std::uint32_t* subscripts = nullptr;   // M x N
  const std::uint32_t* permutation = nullptr;  // M, or null
  const T* values = nullptr;                   // M
  const T* rows[most_rival_modes] = {};        // by position: the factor
  int place[most_rival_modes] = {};            // by position: the mode
  T* output = nullptr;
  std::uint64_t nnz = 0;
  int order = 0;
  int rank = 0;
  int lanes = 0;
};

// GenTen's choice: from rank 1 on 1 lane, from 2 on 2, from 4 on 4, from 8 on 8, from 48 on 16, from 96 on 32; each has
// up to four columns.
constexpr ColumnShape genten_columns(int rank) {
  const int lanes = rank >= 96 ? 32 : rank >= 48 ? 16 : rank >= 8 ? 8 : rank >= 4 ? 4 : rank >= 2 ? 2 : 1;
  const int columns = (rank + lanes - 1) / lanes;
  return {lanes, columns < 4 ? columns : 4};
}

// Adds the nonzeros [begin, end), at most 128, to one round of columns.
template <class T, int Order, int Columns, bool Permuted>
__device__ inline void add_coo_group(const CooArguments<T>& arguments, const LaneColumns<T, Columns>& columns,
                                     std::uint64_t begin, std::uint64_t end) {
  const int order = Order == rival_any_order ? arguments.order : Order;
  T sums[Columns] = {};
  std::uint32_t row = 0;
  bool is_first = true;
  for (std::uint64_t at = begin; at < end; at += rival_in_flight) {
    T products[rival_in_flight][Columns];
    std::uint32_t targets[rival_in_flight];
#pragma unroll
    for (int e = 0; e < rival_in_flight; ++e) {
      std::uint64_t nonzero = at + e < end ? at + e : end - 1;
      if constexpr (Permuted) nonzero = __ldg(arguments.permutation + nonzero);
      const std::uint32_t* subscripts = arguments.subscripts + nonzero * static_cast<std::uint64_t>(order);
      targets[e] = __ldg(subscripts + arguments.place[0]);
      fill(products[e], __ldg(arguments.values + nonzero));
#pragma unroll
      for (int k = 1; k < order; ++k) {
        columns.multiply(products[e], arguments.rows[k], __ldg(subscripts + arguments.place[k]));
      }
    }
#pragma unroll
    for (int e = 0; e < rival_in_flight; ++e) {
      if (at + e >= end) break;
      if constexpr (!Permuted) {
        columns.add_atomically(arguments.output, targets[e], products[e]);
        continue;
      }
      if (at + e > begin && targets[e] != row) {
        if (is_first) {
          columns.add_atomically(arguments.output, row, sums);
        } else {
          columns.store(arguments.output, row, sums);
        }
        is_first = false;
        fill(sums, T{0});
      }
      row = targets[e];
      add_to(sums, products[e]);
    }
  }
  if constexpr (Permuted) columns.add_atomically(arguments.output, row, sums);
}

template <class T, int Order, int Columns, bool Permuted>
__global__ void __launch_bounds__(coo_threads, 5) coo_kernel(const __grid_constant__ CooArguments<T> arguments) {
  const auto lanes = static_cast<unsigned>(arguments.lanes);
  const std::uint64_t group = (std::uint64_t{blockIdx.x} * coo_threads + threadIdx.x) / lanes;
  const std::uint64_t begin = group * coo_group_nonzeros;
  if (begin >= arguments.nnz) return;
  const std::uint64_t end = min(begin + coo_group_nonzeros, arguments.nnz);
  const int round = arguments.lanes * Columns;
  for (auto first = static_cast<int>(threadIdx.x % lanes); first < arguments.rank; first += round) {
    const LaneColumns<T, Columns> columns{first, arguments.lanes, arguments.rank};
    add_coo_group<T, Order, Columns, Permuted>(arguments, columns, begin, end);
  }
}

template <class T>
using CooKernel = void (*)(CooArguments<T>);

template <class T, int Order, bool Permuted>
CooKernel<T> coo_kernel_of_order(int columns) {
  constexpr CooKernel<T> kernels[] = {coo_kernel<T, Order, 1, Permuted>, coo_kernel<T, Order, 2, Permuted>,
                                      coo_kernel<T, Order, 3, Permuted>, coo_kernel<T, Order, 4, Permuted>};
  return kernels[columns - 1];
}

template <class T, bool Permuted>
CooKernel<T> coo_kernel_for(int order, int columns) {
  if (order == 3) return coo_kernel_of_order<T, 3, Permuted>(columns);
  if (order == 4) return coo_kernel_of_order<T, 4, Permuted>(columns);
  if (order == 5) return coo_kernel_of_order<T, 5, Permuted>(columns);
  return coo_kernel_of_order<T, rival_any_order, Permuted>(columns);
}

// Queues the kernel that adds all nonzeros. arguments.lanes is set here.
template <class T>
void launch_coo(CooArguments<T> arguments, cudaStream_t stream) {
  if (arguments.nnz == 0) return;
  const ColumnShape shape = genten_columns(arguments.rank);
  arguments.lanes = shape.lanes;
  const std::uint64_t block_nonzeros = coo_group_nonzeros * (coo_threads / static_cast<unsigned>(shape.lanes));
  const auto blocks = static_cast<unsigned>((arguments.nnz + block_nonzeros - 1) / block_nonzeros);
  const CooKernel<T> kernel = arguments.permutation == nullptr
                                  ? coo_kernel_for<T, false>(arguments.order, shape.columns)
                                  : coo_kernel_for<T, true>(arguments.order, shape.columns);
  launch("launching the kernel of COO", kernel, {.blocks = blocks, .threads = coo_threads}, stream, arguments);
}

}  // namespace blco::cuda
