// The lists of HB-CSF (Nisa et al., IPDPS 2019): output[i_n] += value * prod_{m != n} A_m[i_m] over all nonzeros, mode
// n being that of the slices.
//
// CSL: as for a tree (tree_kernel.cuh), with nonzeros for fibers: a block has a part of a heavy slice, a warp a light
// slice, and a warp adds one row. COO: every nonzero has a row of its own, which is stored; a warp has a few nonzeros.
#pragma once

#include "tests/bench/rivals/cuda/lane_columns.cuh"

namespace blco::cuda {

inline constexpr unsigned most_list_threads = 512;

// Passed by value. Arrays are in device memory.
template <class T>
struct SliceListArguments {
  const std::uint32_t* indices[most_rival_modes] = {};  // of the modes after the first: M each
  const T* rows[most_rival_modes] = {};                 // their factors
  const T* values = nullptr;                            // M
  T* output = nullptr;
  const std::uint32_t* slices = nullptr;  // COO: the slice of each nonzero
  const std::uint32_t* parts = nullptr;   // CSL: see slice_parts.hpp
  std::uint32_t part_count = 0;
  std::uint32_t block_parts = 0;
  std::uint64_t nnz = 0;
  int others = 0;
  int rank = 0;
  int lanes = 0;
  unsigned threads = 0;  // of a block
};

// Products of the nonzeros at, at + step, ... below `end`.
template <class T, int Order, int Columns>
__device__ inline void multiply_list(const SliceListArguments<T>& arguments, const LaneColumns<T, Columns>& columns,
                                     std::uint64_t at, std::uint64_t end, unsigned step,
                                     T (&products)[rival_in_flight][Columns]) {
  const int others = Order == rival_any_order ? arguments.others : Order - 1;
#pragma unroll
  for (unsigned e = 0; e < rival_in_flight; ++e) {
    const std::uint64_t wanted = at + e * step;
    const std::uint64_t nonzero = wanted < end ? wanted : end - 1;
    fill(products[e], wanted < end ? __ldg(arguments.values + nonzero) : T{0});
#pragma unroll
    for (int k = 0; k < others; ++k) {
      columns.multiply(products[e], arguments.rows[k], __ldg(arguments.indices[k] + nonzero));
    }
  }
}

template <class T, int Order, int Columns>
__global__ void __launch_bounds__(most_list_threads, 1)
    csl_kernel(const __grid_constant__ SliceListArguments<T> arguments) {
  const auto lanes = static_cast<unsigned>(arguments.lanes);
  const unsigned warps = blockDim.x / lanes;
  const unsigned warp = threadIdx.x / lanes;
  const bool has_block = blockIdx.x < arguments.block_parts;
  std::uint64_t number = blockIdx.x;
  if (!has_block) number = arguments.block_parts + (number - arguments.block_parts) * warps + warp;
  if (number >= arguments.part_count) return;
  const std::uint32_t* part = arguments.parts + 3 * number;
  const std::uint64_t begin = std::uint64_t{__ldg(part)} + (has_block ? warp : 0);
  const std::uint64_t end = __ldg(part + 1);
  const std::uint32_t slice = __ldg(part + 2);
  const unsigned step = has_block ? warps : 1;
  if (begin >= end) return;

  for (auto first = static_cast<int>(threadIdx.x % lanes); first < arguments.rank; first += arguments.lanes * Columns) {
    const LaneColumns<T, Columns> columns{first, arguments.lanes, arguments.rank};
    T sums[Columns] = {};
    for (std::uint64_t at = begin; at < end; at += rival_in_flight * step) {
      T products[rival_in_flight][Columns];
      multiply_list<T, Order, Columns>(arguments, columns, at, end, step, products);
#pragma unroll
      for (int e = 0; e < rival_in_flight; ++e) add_to(sums, products[e]);
    }
    columns.add_atomically(arguments.output, slice, sums);
  }
}

template <class T, int Order, int Columns>
__global__ void __launch_bounds__(most_list_threads, 1)
    singleton_kernel(const __grid_constant__ SliceListArguments<T> arguments) {
  const std::uint64_t warp = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / arguments.lanes;
  const std::uint64_t begin = warp * rival_in_flight;
  const std::uint64_t end = min(begin + rival_in_flight, arguments.nnz);
  if (begin >= end) return;
  const int lane = static_cast<int>(threadIdx.x) % arguments.lanes;
  for (int first = lane; first < arguments.rank; first += arguments.lanes * Columns) {
    const LaneColumns<T, Columns> columns{first, arguments.lanes, arguments.rank};
    T products[rival_in_flight][Columns];
    multiply_list<T, Order, Columns>(arguments, columns, begin, end, 1, products);
#pragma unroll
    for (int e = 0; e < rival_in_flight; ++e) {
      if (begin + e < end) columns.store(arguments.output, __ldg(arguments.slices + begin + e), products[e]);
    }
  }
}

template <class T>
using SliceListKernel = void (*)(SliceListArguments<T>);

template <class T, int Columns>
SliceListKernel<T> slice_list_kernel_for(int order, bool is_coo) {
  if (order == 3) return is_coo ? singleton_kernel<T, 3, Columns> : csl_kernel<T, 3, Columns>;
  if (order == 4) return is_coo ? singleton_kernel<T, 4, Columns> : csl_kernel<T, 4, Columns>;
  if (order == 5) return is_coo ? singleton_kernel<T, 5, Columns> : csl_kernel<T, 5, Columns>;
  return is_coo ? singleton_kernel<T, rival_any_order, Columns> : csl_kernel<T, rival_any_order, Columns>;
}

// Queues the kernel that adds all nonzeros of the list. arguments.lanes is set here.
template <class T>
void launch_slice_list(SliceListArguments<T> arguments, cudaStream_t stream) {
  if (arguments.nnz == 0) return;
  const ColumnShape shape = warp_columns(arguments.rank);
  arguments.lanes = shape.lanes;
  const unsigned warps = arguments.threads / static_cast<unsigned>(shape.lanes);
  const bool is_coo = arguments.slices != nullptr;
  const std::uint64_t for_warps =
      is_coo ? (arguments.nnz + rival_in_flight - 1) / rival_in_flight : arguments.part_count - arguments.block_parts;
  const std::uint64_t blocks = arguments.block_parts + (for_warps + warps - 1) / warps;
  const int order = arguments.others + 1;
  const SliceListKernel<T> kernel =
      shape.columns == 1 ? slice_list_kernel_for<T, 1>(order, is_coo) : slice_list_kernel_for<T, 2>(order, is_coo);
  launch("launching a kernel of HB-CSF", kernel,
         {.blocks = static_cast<unsigned>(blocks), .threads = arguments.threads}, stream, arguments);
}

}  // namespace blco::cuda
