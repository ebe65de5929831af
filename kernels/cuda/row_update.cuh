// row_update.cuh: A = M V^-1 row by row (substitution with the Cholesky factors of V, or times its pseudo-inverse),
// then every column divided by its 2-norm. All in f64 between load and store.
//
// A block takes a slab of rows. Its warps hold 32 / Lanes rows at a time in shared memory, and Lanes lanes share the
// dot products of a row: one where rows are short, so that nothing is exchanged; all 32 where they are long.
#pragma once

#include "blco/host_device.hpp"
#include "kernels/cuda/dense.hpp"
#include "kernels/cuda/launch.cuh"

namespace blco::cuda {

constexpr unsigned warp_threads = 32;
constexpr unsigned warp_mask = 0xffffffffu;
constexpr unsigned elementwise_threads = 256;
constexpr std::uint64_t most_elementwise_blocks = 4096;

// Shared memory of one warp in numbers: its rows, twice for the pseudo-inverse, and a sum per column. An odd stride
// keeps lanes of different rows in different banks.
BLCO_HOST_DEVICE constexpr int row_stride(int rank) { return rank | 1; }
BLCO_HOST_DEVICE constexpr std::size_t solve_warp_numbers(int rank, int lanes, bool twice) {
  const int rows = static_cast<int>(warp_threads) / lanes;
  return static_cast<std::size_t>((twice ? 2 : 1) * rows * row_stride(rank) + rank);
}

// Adds up over the Lanes lanes that share a row; every one of them gets the sum.
template <int Lanes>
__device__ inline double sum_of_lanes(double own) {
  for (int step = Lanes / 2; step > 0; step /= 2) own += __shfl_xor_sync(warp_mask, own, step);
  return own;
}

// row[j] = (row[j] - sum over k in [first, last) of matrix[j, k] row[k]) * matrix[j, j].
template <int Lanes>
__device__ inline void substitute(const double* matrix, int rank, int j, int first, int last, int part, double* row) {
  const double* line = matrix + static_cast<std::size_t>(j) * static_cast<std::size_t>(rank);
  double sum = 0;
  for (int k = first + part; k < last; k += Lanes) sum += __ldg(line + k) * row[k];
  sum = sum_of_lanes<Lanes>(sum);
  if (part == 0) row[j] = (row[j] - sum) * __ldg(line + j);
  if (Lanes > 1) __syncwarp();
}

template <int Lanes>
__device__ inline void solve_in_place(const SolverView& solver, int rank, int part, double* row) {
  for (int j = 0; j < rank; ++j) substitute<Lanes>(solver.lower, rank, j, 0, j, part, row);
  for (int j = rank - 1; j >= 0; --j) substitute<Lanes>(solver.matrix, rank, j, j + 1, rank, part, row);
}

template <int Lanes>
__device__ inline void multiply(const SolverView& solver, int rank, int part, const double* given, double* row) {
  for (int j = 0; j < rank; ++j) {
    const double* line = solver.matrix + static_cast<std::size_t>(j) * static_cast<std::size_t>(rank);
    double sum = 0;
    for (int k = part; k < rank; k += Lanes) sum += __ldg(line + k) * given[k];
    sum = sum_of_lanes<Lanes>(sum);
    if (part == 0) row[j] = sum;
  }
}

template <class Real, int Lanes>
__global__ void solve_rows_kernel(const Real* output, std::uint64_t rows, std::uint64_t slab_rows, int rank,
                                  SolverView solver, Real* factor, double* partial) {
  constexpr int held = static_cast<int>(warp_threads) / Lanes;
  BLCO_DYNAMIC_SHARED(shared);
  const int lane = static_cast<int>(threadIdx.x % warp_threads);
  const int warp = static_cast<int>(threadIdx.x / warp_threads);
  const int warps = static_cast<int>(blockDim.x / warp_threads);
  const int part = lane % Lanes;
  const int stride = row_stride(rank);
  const bool pseudo_inverse = solver.lower == nullptr;
  const std::size_t numbers = solve_warp_numbers(rank, Lanes, pseudo_inverse);
  double* solved = reinterpret_cast<double*>(shared) + static_cast<std::size_t>(warp) * numbers;
  double* squares = solved + held * stride;
  double* given = pseudo_inverse ? squares + rank : solved;
  for (int column = lane; column < rank; column += static_cast<int>(warp_threads)) squares[column] = 0;

  const std::uint64_t end = min(rows, (std::uint64_t{blockIdx.x} + 1) * slab_rows);
  double inner = 0;
  for (std::uint64_t first = blockIdx.x * slab_rows + static_cast<std::uint64_t>(warp * held); first < end;
       first += static_cast<std::uint64_t>(warps * held)) {
    const int count = static_cast<int>(min(static_cast<std::uint64_t>(held), end - first));
    const Real* from = output + first * static_cast<std::uint64_t>(rank);
    for (int row = 0; row < held; ++row) {
      for (int column = lane; column < rank; column += static_cast<int>(warp_threads)) {
        given[row * stride + column] = row < count ? static_cast<double>(from[row * rank + column]) : 0.0;
      }
    }
    __syncwarp();
    const int mine = lane / Lanes * stride;
    if (pseudo_inverse) {
      multiply<Lanes>(solver, rank, part, given + mine, solved + mine);
    } else {
      solve_in_place<Lanes>(solver, rank, part, solved + mine);
    }
    __syncwarp();
    Real* to = factor + first * static_cast<std::uint64_t>(rank);
    for (int row = 0; row < count; ++row) {
      for (int column = lane; column < rank; column += static_cast<int>(warp_threads)) {
        const double number = solved[row * stride + column];
        squares[column] += number * number;
        inner += static_cast<double>(from[row * rank + column]) * number;
        to[row * rank + column] = static_cast<Real>(number);
      }
    }
    __syncwarp();
  }

  // The warps' sums, in the order of the warps. The inner products take the place of the first solved number.
  inner = sum_of_lanes<static_cast<int>(warp_threads)>(inner);
  if (lane == 0) solved[0] = inner;
  __syncthreads();
  const double* all = reinterpret_cast<const double*>(shared);
  for (int at = static_cast<int>(threadIdx.x); at <= rank; at += static_cast<int>(blockDim.x)) {
    double sum = 0;
    for (int w = 0; w < warps; ++w) {
      sum += all[static_cast<std::size_t>(w) * numbers + static_cast<std::size_t>(at < rank ? held * stride + at : 0)];
    }
    partial[std::uint64_t{blockIdx.x} * static_cast<std::uint64_t>(rank + 1) + static_cast<std::uint64_t>(at)] = sum;
  }
}

// sums[i] = sum over slabs of partial[slab * count + i], in their order.
__global__ void add_slabs_kernel(const double* partial, std::uint64_t slabs, std::uint64_t count, double* sums) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    double sum = 0;
    for (std::uint64_t slab = 0; slab < slabs; ++slab) sum += partial[slab * count + i];
    sums[i] = sum;
  }
}

template <class Real>
__global__ void normalise_kernel(Real* factor, std::uint64_t count, std::uint64_t rank, const double* squares) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const double square = __ldg(squares + i % rank);
    if (square > 0) factor[i] = static_cast<Real>(static_cast<double>(factor[i]) / sqrt(square));
  }
}

template <class Real>
__global__ void merge_kernel(Real* output, const Real* copies, int copy_count, std::uint64_t count) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    Real sum = output[i];
    for (int copy = 0; copy < copy_count; ++copy) sum += copies[static_cast<std::uint64_t>(copy) * count + i];
    output[i] = sum;
  }
}

inline LaunchShape elementwise_shape(std::uint64_t count) {
  const std::uint64_t blocks = (count + elementwise_threads - 1) / elementwise_threads;
  return {static_cast<unsigned>(std::min(blocks, most_elementwise_blocks)), elementwise_threads, 0};
}

template <class Real, int Lanes>
void launch_solve(const Real* output, std::uint64_t rows, int rank, const SolverView& solver, Real* factor,
                  double* partial, cudaStream_t stream) {
  constexpr int longest_row_of_four_warps = 512;
  const unsigned warps = rank <= longest_row_of_four_warps ? 4 : 1;
  const Slabs slabs = solve_slabs(rows);
  const std::size_t bytes = warps * solve_warp_numbers(rank, Lanes, solver.lower == nullptr) * sizeof(double);
  launch("solve rows", solve_rows_kernel<Real, Lanes>,
         {static_cast<unsigned>(slabs.count), warps * warp_threads, bytes}, stream, output, rows, slabs.rows, rank,
         solver, factor, partial);
}

template <class Real>
void solve_rows(const Real* output, std::uint64_t rows, int rank, const SolverView& solver, Real* factor, double* sums,
                void* scratch, cudaStream_t stream) {
  constexpr int longest_row_of_a_lane = 32;
  constexpr int longest_row_of_four_lanes = 128;
  auto* partial = static_cast<double*>(scratch);
  if (rank <= longest_row_of_a_lane) {
    launch_solve<Real, 1>(output, rows, rank, solver, factor, partial, stream);
  } else if (rank <= longest_row_of_four_lanes) {
    launch_solve<Real, 4>(output, rows, rank, solver, factor, partial, stream);
  } else {
    launch_solve<Real, 32>(output, rows, rank, solver, factor, partial, stream);
  }
  const auto count = static_cast<std::uint64_t>(rank) + 1;
  launch("add slabs", add_slabs_kernel, elementwise_shape(count), stream, partial, solve_slabs(rows).count, count,
         sums);
}

template <class Real>
void normalise_columns(Real* factor, std::uint64_t rows, int rank, const double* sums, cudaStream_t stream) {
  const std::uint64_t count = rows * static_cast<std::uint64_t>(rank);
  launch("normalise columns", normalise_kernel<Real>, elementwise_shape(count), stream, factor, count,
         static_cast<std::uint64_t>(rank), sums);
}

template <class Real>
void merge_copies(Real* output, const Real* copies, int copy_count, std::uint64_t count, cudaStream_t stream) {
  launch("merge copies", merge_kernel<Real>, elementwise_shape(count), stream, output, copies, copy_count, count);
}

}  // namespace blco::cuda
