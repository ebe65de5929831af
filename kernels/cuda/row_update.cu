// row_update.cu: A = M V^-1 row by row (substitution with the Cholesky factors of V, or times its pseudo-inverse), then
// divides every column by its 2-norm. Everything between load and store is f64.
#include "kernels/cuda/long_rows.cuh"
#include "kernels/cuda/short_rows.cuh"

namespace blco::cuda {
namespace {

constexpr int max_held_long_rows = 4;
// Above this, the rows would exceed the shared memory that a block gets without opting in to more.
constexpr int longest_of_held_rows = 1024;

// One symmetric matrix from which both substitutions read along rows: entry (j, k) is L_jk or L_kj, whichever exists,
// and 1 / L_jj on the diagonal; or the pseudo-inverse. Padded with the unit matrix.
__global__ void lay_out_solver_kernel(SolverView solver, int rank, int columns, double* matrix) {
  const int count = columns * columns;
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < count;
       i += static_cast<int>(gridDim.x * blockDim.x)) {
    const int j = i / columns;
    const int k = i % columns;
    if (j >= rank || k >= rank) {
      matrix[i] = j == k ? 1 : 0;
    } else {
      const double* from = solver.lower != nullptr && k < j ? solver.lower : solver.matrix;
      matrix[i] = from[static_cast<std::size_t>(j) * static_cast<std::size_t>(rank) + static_cast<std::size_t>(k)];
    }
  }
}

__global__ void add_slabs_kernel(const double* partial, std::uint64_t slabs, int count, double* sums) {
  const int i = static_cast<int>(blockIdx.x * entries_of_sum_block + threadIdx.x % entries_of_sum_block);
  const auto at = static_cast<std::uint64_t>(min(i, count - 1));
  const double sum = sum_of_slabs(partial, slabs, static_cast<std::uint64_t>(count), at);
  if (threadIdx.x < entries_of_sum_block && i < count) sums[i] = sum;
}

// Each thread stays in one column.
template <class Real>
__global__ void normalise_kernel(Real* factor, std::uint64_t count, unsigned rank, const double* squares) {
  const unsigned threads = gridDim.x * blockDim.x / rank * rank;
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= threads) return;
  const double norm = sqrt(squares[thread % rank]);
  if (!(norm > 0)) return;
#pragma unroll 4
  for (std::uint64_t i = thread; i < count; i += threads) {
    factor[i] = static_cast<Real>(static_cast<double>(factor[i]) / norm);
  }
}

// The arguments of the kernels for all row lengths.
template <class Real>
struct SolveArguments {
  const Real* output;
  std::uint64_t rows;
  int rank;
  const double* matrix;
  bool cholesky;
  Real* factor;
  double* partial;
};

template <int Lanes, class Real>
void launch_short(const SolveArguments<Real>& a, cudaStream_t stream) {
  const Slabs slabs = solve_slabs(a.rows, a.rank);
  auto* kernel = a.cholesky ? solve_short_rows_kernel<Real, Lanes, true> : solve_short_rows_kernel<Real, Lanes, false>;
  launch("solve rows", kernel, {static_cast<unsigned>(slabs.count), short_row_warps * warp_threads, 0}, stream,
         a.output, a.rows, slabs.rows, a.rank, a.matrix, a.factor, a.partial);
}

template <int Held, class Real>
void launch_long(const SolveArguments<Real>& a, cudaStream_t stream) {
  const Slabs slabs = solve_slabs(a.rows, a.rank);
  const int columns = solve_columns(a.rank);
  const std::size_t bytes = static_cast<std::size_t>(Held) * static_cast<std::size_t>(columns) * sizeof(double);
  auto* kernel = a.cholesky ? solve_long_rows_kernel<Real, Held, true> : solve_long_rows_kernel<Real, Held, false>;
  launch("solve rows", kernel, {static_cast<unsigned>(slabs.count), long_row_threads, bytes}, stream, a.output, a.rows,
         slabs.rows, a.rank, columns, a.matrix, a.factor, a.partial);
}

}  // namespace

template <class Real>
void solve_rows(const Real* output, std::uint64_t rows, int rank, const SolverView& solver, Real* factor, double* sums,
                void* scratch, cudaStream_t stream) {
  const int columns = solve_columns(rank);
  const auto entries = static_cast<std::uint64_t>(columns) * static_cast<std::uint64_t>(columns);
  auto* matrix = static_cast<double*>(scratch);
  double* partial = matrix + entries;
  launch("lay out the solver", lay_out_solver_kernel, elementwise_shape(entries), stream, solver, rank, columns,
         matrix);

  const SolveArguments<Real> arguments{output, rows, rank, matrix, solver.lower != nullptr, factor, partial};
  if (columns == numbers_of_lane) {
    launch_short<1>(arguments, stream);
  } else if (columns == 2 * numbers_of_lane) {
    launch_short<2>(arguments, stream);
  } else if (columns == 4 * numbers_of_lane) {
    launch_short<4>(arguments, stream);
  } else if (columns == max_lanes_of_short_row * numbers_of_lane) {
    launch_short<max_lanes_of_short_row>(arguments, stream);
  } else if (columns <= longest_of_held_rows) {
    launch_long<max_held_long_rows>(arguments, stream);
  } else {
    launch_long<1>(arguments, stream);
  }
  const auto numbers = static_cast<std::uint64_t>(rank) + 1;
  launch("add slabs", add_slabs_kernel, slab_sum_shape(numbers), stream, partial, solve_slabs(rows, rank).count,
         rank + 1, sums);
}

template <class Real>
void normalise_columns(Real* factor, std::uint64_t rows, int rank, const double* sums, cudaStream_t stream) {
  const std::uint64_t count = rows * static_cast<std::uint64_t>(rank);
  launch("normalise columns", normalise_kernel<Real>, elementwise_shape(count), stream, factor, count,
         static_cast<unsigned>(rank), sums);
}

template void solve_rows(const double*, std::uint64_t, int, const SolverView&, double*, double*, void*, cudaStream_t);
template void solve_rows(const float*, std::uint64_t, int, const SolverView&, float*, double*, void*, cudaStream_t);
template void normalise_columns(double*, std::uint64_t, int, const double*, cudaStream_t);
template void normalise_columns(float*, std::uint64_t, int, const double*, cudaStream_t);

}  // namespace blco::cuda
