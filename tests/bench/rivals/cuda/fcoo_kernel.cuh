// F-COO: output[i_n] += value * prod_{m != n} A_m[i_m] over all nonzeros, sorted by i_n.
//
// Liu et al., CLUSTER 2017: a thread has a few neighbouring nonzeros and a column, and adds up in registers while the
// target's row stays the same. A segmented scan of the block brings together what threads of one column have of one
// row. Rows that one block has alone are stored; those that cross blocks are added atomically. Neighbouring lanes are
// columns, so that the row of a factor is read at once; CUB's scans want neighbouring lanes to be neighbours in the
// scan, so this one is written out.
#pragma once

#include "kernels/cuda/device_memory.hpp"
#include "tests/bench/rivals/cuda/lane_columns.cuh"

namespace blco::cuda {

inline constexpr unsigned most_fcoo_threads = 1024;

// Passed by value. A group is the nonzeros of one thread; see fcoo_copies.hpp.
template <class T>
struct FcooArguments {
  const std::uint32_t* indices[most_rival_modes] = {};  // of the other modes: M each
  const T* rows[most_rival_modes] = {};                 // their factors
  const T* values = nullptr;                            // M
  const std::uint32_t* bit_flags = nullptr;             // per nonzero: 0 at the last of a segment
  const std::uint32_t* segment_rows = nullptr;          // per segment
  const std::uint32_t* first_segments = nullptr;        // per group
  T* output = nullptr;
  std::uint64_t nnz = 0;
  std::uint64_t group_nonzeros = 0;
  int others = 0;
  int rank = 0;
  int lanes = 0;
  unsigned threads = 0;  // of a block
};

// What the scan of a block carries from one group to the next: the sums of the segment that is still open, and whether
// any segment has ended.
template <class T, int Columns>
struct OpenSegment {
  T sums[Columns] = {};
  bool has_ended = false;

  // Of the groups before, then those here.
  __device__ void prepend(const OpenSegment& before) {
    if (has_ended) return;
    add_to(sums, before.sums);
    has_ended = before.has_ended;
  }
};

// The scan's dynamic shared memory: of each thread an element that is read and one that is written.
template <class T, int Columns>
constexpr std::size_t fcoo_shared_bytes(unsigned threads) {
  return 2 * threads * sizeof(OpenSegment<T, Columns>);
}
// More than this a kernel would have to opt in to.
static_assert(fcoo_shared_bytes<double, 2>(most_fcoo_threads) <= usual_shared_bytes);

// What a group of nonzeros leaves to the scan.
template <class T, int Columns>
struct FcooGroup {
  OpenSegment<T, Columns> open;
  T head[Columns] = {};  // of the segment that ended first, if one has
  std::uint32_t head_segment = 0;
  std::uint32_t last_segment = 0;  // the open one, if the last nonzero leaves it open
  bool is_open = false;
};

__device__ inline bool is_last_of_segment(const std::uint32_t* flags, std::uint64_t nonzero) {
  return (__ldg(flags + nonzero / 32) >> (nonzero % 32) & 1) == 0;
}

// Adds up the nonzeros [begin, end). Segments that begin and end among them are stored at once.
template <class T, int Order, int Columns>
__device__ inline FcooGroup<T, Columns> add_fcoo_group(const FcooArguments<T>& arguments,
                                                       const LaneColumns<T, Columns>& columns, std::uint64_t begin,
                                                       std::uint64_t end, std::uint32_t segment) {
  constexpr int in_flight = rival_in_flight / Columns;  // 64 registers are all that 1024 threads can have
  const int others = Order == rival_any_order ? arguments.others : Order - 1;
  FcooGroup<T, Columns> group;
  for (std::uint64_t at = begin; at < end; at += in_flight) {
    T products[in_flight][Columns];
#pragma unroll
    for (int e = 0; e < in_flight; ++e) {
      const std::uint64_t nonzero = at + e < end ? at + e : end - 1;
      fill(products[e], __ldg(arguments.values + nonzero));
#pragma unroll
      for (int k = 0; k < others; ++k) {
        columns.multiply(products[e], arguments.rows[k], __ldg(arguments.indices[k] + nonzero));
      }
    }
#pragma unroll
    for (int e = 0; e < in_flight; ++e) {
      if (at + e >= end) break;
      add_to(group.open.sums, products[e]);
      group.is_open = !is_last_of_segment(arguments.bit_flags, at + e);
      if (group.is_open) continue;
      if (group.open.has_ended) {
        columns.store(arguments.output, __ldg(arguments.segment_rows + segment), group.open.sums);
      } else {
        group.head_segment = segment;
        add_to(group.head, group.open.sums);
        group.open.has_ended = true;
      }
      fill(group.open.sums, T{0});
      ++segment;
    }
  }
  group.last_segment = segment;
  return group;
}

// Scans over the groups of a block; lanes of one column have neighbours `lanes` threads apart. Returns what the groups
// before leave open, and makes `open` include them. Uses 2 * blockDim.x elements of shared memory.
template <class T, int Columns>
__device__ inline OpenSegment<T, Columns> scan_block(OpenSegment<T, Columns>& open, unsigned lanes,
                                                     OpenSegment<T, Columns>* shared) {
  OpenSegment<T, Columns>* from = shared;
  OpenSegment<T, Columns>* to = shared + blockDim.x;
  from[threadIdx.x] = open;
  __syncthreads();
  for (unsigned apart = lanes; apart < blockDim.x; apart *= 2) {
    if (threadIdx.x >= apart) open.prepend(from[threadIdx.x - apart]);
    to[threadIdx.x] = open;
    __syncthreads();
    OpenSegment<T, Columns>* const written = to;
    to = from;
    from = written;
  }
  const OpenSegment<T, Columns> before = threadIdx.x >= lanes ? from[threadIdx.x - lanes] : OpenSegment<T, Columns>{};
  __syncthreads();
  return before;
}

template <class T, int Order, int Columns>
__global__ void __launch_bounds__(most_fcoo_threads, 1)
    fcoo_kernel(const __grid_constant__ FcooArguments<T> arguments) {
  BLCO_DYNAMIC_SHARED(shared);
  const auto lanes = static_cast<unsigned>(arguments.lanes);
  const std::uint64_t first_group = std::uint64_t{blockIdx.x} * (blockDim.x / lanes);
  const std::uint64_t group_number = first_group + threadIdx.x / lanes;
  const std::uint64_t begin = min(group_number * arguments.group_nonzeros, arguments.nnz);
  const std::uint64_t end = min(begin + arguments.group_nonzeros, arguments.nnz);
  const std::uint32_t segment = begin < end ? __ldg(arguments.first_segments + group_number) : 0;
  const std::uint64_t block_begin = first_group * arguments.group_nonzeros;
  const bool starts_segment = block_begin == 0 || is_last_of_segment(arguments.bit_flags, block_begin - 1);

  const int lane = static_cast<int>(threadIdx.x % lanes);
  for (int round = 0; round < arguments.rank; round += arguments.lanes * Columns) {
    const LaneColumns<T, Columns> columns{round + lane, arguments.lanes, arguments.rank};
    auto group = add_fcoo_group<T, Order, Columns>(arguments, columns, begin, end, segment);
    const bool has_head = group.open.has_ended;
    const auto before = scan_block(group.open, lanes, reinterpret_cast<OpenSegment<T, Columns>*>(shared));
    if (has_head) {
      add_to(group.head, before.sums);
      const std::uint32_t row = __ldg(arguments.segment_rows + group.head_segment);
      if (before.has_ended || starts_segment) {
        columns.store(arguments.output, row, group.head);
      } else {
        columns.add_atomically(arguments.output, row, group.head);
      }
    }
    if (group.is_open && threadIdx.x + lanes >= blockDim.x) {
      columns.add_atomically(arguments.output, __ldg(arguments.segment_rows + group.last_segment), group.open.sums);
    }
  }
}

template <class T>
using FcooKernel = void (*)(FcooArguments<T>);

template <class T, int Columns>
FcooKernel<T> fcoo_kernel_for(int order) {
  if (order == 3) return fcoo_kernel<T, 3, Columns>;
  if (order == 4) return fcoo_kernel<T, 4, Columns>;
  if (order == 5) return fcoo_kernel<T, 5, Columns>;
  return fcoo_kernel<T, rival_any_order, Columns>;
}

// Queues the kernel that adds all nonzeros. arguments.threads: a power of two from 32 to 1024. arguments.lanes is set
// here.
template <class T>
void launch_fcoo(FcooArguments<T> arguments, cudaStream_t stream) {
  if (arguments.nnz == 0) return;
  const ColumnShape shape = warp_columns(arguments.rank);
  arguments.lanes = shape.lanes;
  const std::uint64_t block_nonzeros =
      arguments.group_nonzeros * (arguments.threads / static_cast<unsigned>(shape.lanes));
  LaunchShape grid{.blocks = static_cast<unsigned>((arguments.nnz + block_nonzeros - 1) / block_nonzeros),
                   .threads = arguments.threads};
  FcooKernel<T> kernel = fcoo_kernel_for<T, 1>(arguments.others + 1);
  grid.shared_bytes = fcoo_shared_bytes<T, 1>(arguments.threads);
  if (shape.columns == 2) {
    kernel = fcoo_kernel_for<T, 2>(arguments.others + 1);
    grid.shared_bytes = fcoo_shared_bytes<T, 2>(arguments.threads);
  }
  launch("launching the kernel of F-COO", kernel, grid, stream, arguments);
}

}  // namespace blco::cuda
