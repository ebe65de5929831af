// Each step of the dense work is a call of cuBLAS, of cub::DeviceFor, or of one kernel.
#include <algorithm>
#include <cub/device/device_for.cuh>
#include <numeric>
#include <type_traits>

#include "blco/row_constraint.hpp"
#include "kernels/cuda/dense.hpp"
#include "kernels/cuda/launch.cuh"

namespace blco::cuda {
namespace {

// The steps of HALS and ADMM (RowProblem in kernels/backend.hpp) in f64: one thread per number where numbers do not
// depend on each other, else one per row. All but one are operations of cub::DeviceFor.

__device__ inline double larger(double x, double y) { return x < y ? y : x; }
__device__ inline double smaller(double x, double y) { return y < x ? y : x; }

// The old rows, unnormalised. `rows` may be `old`.
template <class Factor>
struct MultiplyByWeights {
  __device__ void operator()(std::uint64_t i) const {
    rows[i] = static_cast<double>(old[i]) * (weights != nullptr ? weights[i % columns] : 1.0);
  }
  const Factor* old;
  const double* weights;  // nullptr: all 1
  double* rows;
  std::uint64_t columns;
};

// All passes of HALS. The system is symmetric.
struct HalsRows {
  // Updates the row that `m` is given for; column k of it is at a[k * stride].
  __device__ void update(const double* m, double* a, std::uint64_t stride) const {
    bool is_zero = true;
    for (std::uint64_t r = 0; r < columns; ++r) is_zero = is_zero && m[r] == 0;
    for (std::uint64_t r = 0; r < columns && is_zero; ++r) a[r * stride] = 0;
    for (int pass = 0; pass < passes && !is_zero; ++pass) {
      for (std::uint64_t r = 0; r < columns; ++r) {
        const double* v = system + r * columns;
        if (!(v[r] > 0)) continue;
        double step = m[r] - half_l1;
        for (std::uint64_t k = 0; k < columns; ++k) step -= a[k * stride] * v[k];
        a[r * stride] = larger(0, a[r * stride] + step / v[r]);
      }
    }
  }
  // In place.
  __device__ void operator()(std::uint64_t row) const { update(given + row * columns, rows + row * columns, 1); }

  const double* given;
  const double* system;
  double* rows;
  std::uint64_t columns;
  double half_l1;
  int passes;
};

constexpr unsigned hals_threads = 32;

// Each thread's row lies in shared memory, where threads that read the same column of their rows read neighbours: R^2
// numbers a pass would else come from as many cache lines as there are threads.
__global__ void hals_kernel(HalsRows task, std::uint64_t row_count) {
  BLCO_DYNAMIC_SHARED(memory);
  const std::uint64_t row = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (row >= row_count) return;
  double* a = reinterpret_cast<double*>(memory) + threadIdx.x;
  double* from = task.rows + row * task.columns;
  for (std::uint64_t k = 0; k < task.columns; ++k) a[k * blockDim.x] = from[k];
  task.update(task.given + row * task.columns, a, blockDim.x);
  for (std::uint64_t k = 0; k < task.columns; ++k) from[k] = a[k * blockDim.x];
}

// The right sides of ADMM's least squares.
struct AdmmRightSide {
  __device__ void operator()(std::uint64_t i) const { right[i] = given[i] + rho * (rows[i] + dual[i]); }
  const double* given;
  const double* rows;
  const double* dual;
  double* right;
  double rho;
};

// ADMM's last two lines for sets that hold entry by entry.
struct AdmmMove {
  __device__ void operator()(std::uint64_t i) const {
    const double t = solution[i];
    const double x = t - dual[i];
    double moved = x < 0 ? smaller(0, x + towards_zero) : larger(0, x - towards_zero);
    if (constraint.set == RowSet::box) moved = larger(constraint.lower, smaller(moved, constraint.upper));
    rows[i] = moved;
    dual[i] += moved - t;
  }
  const double* solution;
  double* rows;
  double* dual;
  RowConstraint constraint;
  double towards_zero;
};

// The same on the simplex, for one row. A threshold is subtracted, which grows with each step until no entry falls
// below it any more (Michelot 1986). Entries are first shifted, so that the largest is 0: large numbers would hide
// the 1.
struct AdmmMoveToSimplex {
  __device__ void operator()(std::uint64_t row) const {
    const double* t = solution + row * columns;
    double* u = dual + row * columns;
    double* a = rows + row * columns;
    double largest = t[0] - u[0];
    for (std::uint64_t r = 1; r < columns; ++r) largest = larger(largest, t[r] - u[r]);
    for (std::uint64_t r = 0; r < columns; ++r) a[r] = t[r] - u[r] - largest;
    double threshold = -1;
    for (bool grows = true; grows;) {
      double sum = -1;
      double count = 0;
      for (std::uint64_t r = 0; r < columns; ++r) {
        sum += a[r] > threshold ? a[r] : 0;
        count += a[r] > threshold ? 1 : 0;
      }
      const double next = sum / count;
      grows = next > threshold;
      if (grows) threshold = next;
    }
    for (std::uint64_t r = 0; r < columns; ++r) {
      a[r] = larger(0, a[r] - threshold);
      u[r] += a[r] - t[r];
    }
  }
  const double* solution;
  double* rows;
  double* dual;
  std::uint64_t columns;
};

// Scalars that cuBLAS reads when it is called.
constexpr double one = 1;
constexpr double zero = 0;

template <class Sum>
struct MergeCopies {
  __device__ void operator()(std::uint64_t i) const {
    Sum sum = output[i];
    for (int copy = 0; copy < copy_count; ++copy) sum += copies[static_cast<std::uint64_t>(copy) * count + i];
    output[i] = sum;
  }
  Sum* output;
  const Sum* copies;
  int copy_count;
  std::uint64_t count;
};

template <class From, class To>
struct Convert {
  __device__ void operator()(std::uint64_t i) const { to[i] = static_cast<To>(from[i]); }
  const From* from;
  To* to;
};

// A column whose divisor is 0 is filled instead.
template <class From, class Factor>
struct DivideColumns {
  __device__ void operator()(std::uint64_t i) const {
    const double divisor = divisors[i % columns];
    factor[i] = static_cast<Factor>(divisor == 0 ? filling : static_cast<double>(from[i]) / divisor);
  }
  const From* from;
  Factor* factor;
  const double* divisors;
  std::uint64_t columns;
  double filling;
};

// The numbers themselves if they have the type To, else a copy in `to`.
template <class From, class To>
const To* converted(const From* from, std::uint64_t count, To* to, const Stream& stream) {
  if constexpr (std::is_same_v<From, To>) {
    return from;
  } else {
    check(cub::DeviceFor::Bulk(count, Convert<From, To>{from, to}, stream.get()), "convert numbers");
    return to;
  }
}

}  // namespace

DenseWork::DenseWork(const DenseSizes& sizes, void* scratch, Stream& stream, StagedTransfer& transfer)
    : sizes_(sizes),
      rank_(static_cast<int>(sizes.columns)),
      scratch_(static_cast<double*>(scratch)),
      stream_(stream),
      transfer_(transfer),
      cublas_(stream.get(), scratch, static_cast<std::size_t>(sizes.workspace_bytes)) {}

std::vector<double> DenseWork::download(std::uint64_t offset, std::uint64_t count) {
  std::vector<double> numbers(static_cast<std::size_t>(count));
  transfer_.download(at(offset), std::as_writable_bytes(std::span(numbers)), stream_);
  return numbers;
}

// Adds the products of each part of a slab to that part's matrix, and those of rows left over to the first one. With a
// single part, all rows are left over.
void DenseWork::add_gram(const double* slab, std::uint64_t rows) const {
  const std::uint64_t part_rows = sizes_.parts > 1 ? rows / sizes_.parts : 0;
  const std::uint64_t left_over = rows - part_rows * sizes_.parts;
  double* grams = at(sizes_.grams);
  if (part_rows > 0) {
    const auto stride = static_cast<long long>(part_rows * sizes_.columns);
    cublas_.run("cublasDgemmStridedBatched", &CublasCalls::gemm_strided_batched, CUBLAS_OP_N, CUBLAS_OP_T, rank_, rank_,
                static_cast<int>(part_rows), &one, slab, rank_, stride, slab, rank_, stride, &one, grams, rank_,
                static_cast<long long>(sizes_.columns * sizes_.columns), static_cast<int>(sizes_.parts));
  }
  if (left_over > 0) {
    cublas_.run("cublasDsyrk", &CublasCalls::syrk, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, rank_,
                static_cast<int>(left_over), &one, slab + (rows - left_over) * sizes_.columns, rank_, &one, grams,
                rank_);
  }
}

// Adds the parts in order, and mirrors the triangle that all calls have written.
std::vector<double> DenseWork::finish_gram() {
  const std::uint64_t entries = sizes_.columns * sizes_.columns;
  double* grams = at(sizes_.grams);
  merge_copies(grams, grams + entries, static_cast<int>(sizes_.parts) - 1, entries, stream_.get());
  std::vector<double> gram = download(sizes_.grams, entries);
  const auto n = static_cast<std::size_t>(rank_);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < j; ++k) gram[j * n + k] = gram[k * n + j];
  }
  return gram;
}

void DenseWork::solve(bool cholesky, const double* given, std::uint64_t rows, double* made) const {
  const double* system = at(sizes_.system);
  const int count = static_cast<int>(rows);
  if (!cholesky) {
    cublas_.run("cublasDgemmStridedBatched", &CublasCalls::gemm_strided_batched, CUBLAS_OP_N, CUBLAS_OP_N, rank_, count,
                rank_, &one, system, rank_, 0LL, given, rank_, 0LL, &zero, made, rank_, 0LL, 1);
    return;
  }
  if (given != made) copy_on_device(made, given, rows * sizes_.columns * sizeof(double), stream_.get());
  for (const cublasOperation_t operation : {CUBLAS_OP_N, CUBLAS_OP_T}) {
    cublas_.run("cublasDtrsm", &CublasCalls::trsm, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, operation,
                CUBLAS_DIAG_NON_UNIT, rank_, count, &one, system, rank_, made, rank_);
  }
}

// HALS multiplies by the system itself; the others by the inverse, or substitute.
void DenseWork::upload_system(const RowProblem& problem) {
  const RowSolver& solver = *problem.solver;
  const bool hals = !problem.constraint.is_least_squares() && !problem.constraint.needs_dual();
  const std::span<const double> matrix = hals ? problem.system : solver.matrix();
  std::vector<double> system(matrix.begin(), matrix.end());
  const auto n = static_cast<std::size_t>(rank_);
  // For cuBLAS, the rows of a RowSolver's L^T are the columns of L, but their first numbers are inverted there.
  for (std::size_t j = 0; !hals && solver.is_cholesky() && j < n; ++j) system[j * n + j] = 1 / system[j * n + j];
  transfer_.upload(std::as_bytes(std::span(system)), at(sizes_.system), stream_);
  transfer_.upload(std::as_bytes(problem.weights), at(sizes_.weights), stream_);
}

void DenseWork::run_hals(const RowProblem& problem, const double* given, std::uint64_t rows, double* made) const {
  const HalsRows update{given, at(sizes_.system), made, sizes_.columns, problem.constraint.l1 / 2, hals_passes};
  const std::size_t shared_bytes = sizes_.columns * hals_threads * sizeof(double);
  if (shared_bytes > usual_shared_bytes) {
    check(cub::DeviceFor::Bulk(rows, update, stream_.get()), "HALS");
    return;
  }
  const auto blocks = static_cast<unsigned>((rows + hals_threads - 1) / hals_threads);
  launch("HALS", hals_kernel, {blocks, hals_threads, shared_bytes}, stream_.get(), update, rows);
}

void DenseWork::run_admm(const RowProblem& problem, const double* given, std::uint64_t rows, double* made,
                         double* dual) const {
  const bool cholesky = problem.solver->is_cholesky();
  const std::uint64_t numbers = rows * sizes_.columns;
  double* solution = at(sizes_.solution);
  double* right = cholesky ? solution : at(sizes_.right);
  for (int step = 0; step < admm_steps; ++step) {
    const AdmmRightSide right_side{given, made, dual, right, problem.rho};
    check(cub::DeviceFor::Bulk(numbers, right_side, stream_.get()), "right sides of ADMM");
    solve(cholesky, right, rows, solution);
    if (problem.constraint.set == RowSet::simplex) {
      const AdmmMoveToSimplex move{solution, made, dual, sizes_.columns};
      check(cub::DeviceFor::Bulk(rows, move, stream_.get()), "move rows to the simplex");
    } else {
      const double towards_zero = problem.constraint.l1 / (2 * problem.rho);
      const AdmmMove move{solution, made, dual, problem.constraint, towards_zero};
      check(cub::DeviceFor::Bulk(numbers, move, stream_.get()), "move rows to their bounds");
    }
  }
}

// Turns `count` rows of the output from `first` on, in f64, into new rows.
template <class Factor>
void DenseWork::solve_slab(const RowProblem& problem, const double* given, const OldDeviceRows<Factor>& old,
                           std::uint64_t first, std::uint64_t count, double* made) const {
  if (problem.constraint.is_least_squares()) return solve(problem.solver->is_cholesky(), given, count, made);
  const std::uint64_t offset = first * sizes_.columns;
  const std::uint64_t numbers = count * sizes_.columns;
  const double* weights = problem.weights.empty() ? nullptr : at(sizes_.weights);
  const MultiplyByWeights<Factor> start{old.factor + offset, weights, made, sizes_.columns};
  check(cub::DeviceFor::Bulk(numbers, start, stream_.get()), "multiply by weights");
  if (!problem.constraint.needs_dual()) return run_hals(problem, given, count, made);
  Factor* new_dual = old.new_dual + offset;
  double* dual = at(sizes_.dual);
  if constexpr (std::is_same_v<Factor, double>) dual = new_dual;
  check(cub::DeviceFor::Bulk(numbers, Convert<Factor, double>{old.dual + offset, dual}, stream_.get()), "copy a dual");
  run_admm(problem, given, count, made, dual);
  converted(dual, numbers, new_dual, stream_);
}

template <class Sum, class Factor>
SolvedRows DenseWork::solve_rows(Sum* output, std::uint64_t rows, const RowProblem& problem,
                                 const OldDeviceRows<Factor>& old, Factor* factor, std::vector<double>& gram) {
  upload_system(problem);
  fill_zero(at(sizes_.grams), sizes_.parts * sizes_.columns * sizes_.columns * sizeof(double), stream_.get());
  // A call that failed may have left the other mode.
  cublas_.run("cublasSetPointerMode", &CublasCalls::set_pointer_mode, CUBLAS_POINTER_MODE_HOST);
  std::uint64_t slabs = 0;
  for (std::uint64_t first = 0; first < rows; first += sizes_.slab_rows) {
    const std::uint64_t count = std::min(sizes_.slab_rows, rows - first);
    const std::uint64_t numbers = count * sizes_.columns;
    Factor* rows_of_slab = factor + first * sizes_.columns;
    const double* given = converted(output + first * sizes_.columns, numbers, at(sizes_.given), stream_);
    double* made = at(sizes_.made);
    if constexpr (std::is_same_v<Factor, double>) made = rows_of_slab;
    solve_slab(problem, given, old, first, count, made);
    // The result of the inner product stays on the device.
    cublas_.run("cublasSetPointerMode", &CublasCalls::set_pointer_mode, CUBLAS_POINTER_MODE_DEVICE);
    cublas_.run("cublasDdot", &CublasCalls::dot, static_cast<int>(numbers), given, 1, made, 1,
                at(sizes_.inner + slabs++));
    cublas_.run("cublasSetPointerMode", &CublasCalls::set_pointer_mode, CUBLAS_POINTER_MODE_HOST);
    add_gram(made, count);
    if constexpr (waits<Sum, Factor>) {
      copy_on_device(output + first * sizes_.columns, made, numbers * sizeof(double), stream_.get());
    } else {
      converted(made, numbers, rows_of_slab, stream_);
    }
  }
  gram = finish_gram();
  const std::vector<double> inner = download(sizes_.inner, slabs);
  SolvedRows solved;
  solved.inner = std::accumulate(inner.begin(), inner.end(), 0.0);
  for (std::size_t i = 0; i < gram.size(); i += static_cast<std::size_t>(rank_) + 1) solved.squares.push_back(gram[i]);
  return solved;
}

template <class Sum, class Factor>
void DenseWork::scale_rows(const Sum* output, std::uint64_t rows, std::span<const double> divisors, double filling,
                           Factor* factor, std::vector<double>& gram) {
  const auto divide = [&]<class From>(const From* from) {
    const std::uint64_t numbers = rows * sizes_.columns;
    if (divisors.empty()) {
      converted(from, numbers, factor, stream_);
      return;
    }
    transfer_.upload(std::as_bytes(divisors), at(sizes_.system), stream_);
    const DivideColumns<From, Factor> each{from, factor, at(sizes_.system), sizes_.columns, filling};
    check(cub::DeviceFor::Bulk(numbers, each, stream_.get()), "divide columns");
  };
  if constexpr (waits<Sum, Factor>) {
    divide(output);
  } else {
    divide(factor);
  }
  if (std::ranges::count(divisors, 0.0) > 0 || !std::is_same_v<Factor, double>) return gram.clear();
  const std::size_t n = divisors.size();
  for (std::size_t i = 0; i < n * n; ++i) gram[i] /= divisors[i / n] * divisors[i % n];
}

template <class Factor>
std::vector<double> DenseWork::gram(const Factor* factor, std::uint64_t rows) {
  fill_zero(at(sizes_.grams), sizes_.parts * sizes_.columns * sizes_.columns * sizeof(double), stream_.get());
  for (std::uint64_t first = 0; first < rows; first += sizes_.slab_rows) {
    const std::uint64_t count = std::min(sizes_.slab_rows, rows - first);
    add_gram(converted(factor + first * sizes_.columns, count * sizes_.columns, at(sizes_.made), stream_), count);
  }
  return finish_gram();
}

template <class Sum>
void merge_copies(Sum* output, const Sum* copies, int copy_count, std::uint64_t count, cudaStream_t stream) {
  check(cub::DeviceFor::Bulk(count, MergeCopies<Sum>{output, copies, copy_count, count}, stream), "merge copies");
}

// The types of outputs and factors for each precision.
using Grams = std::vector<double>;
using Divisors = std::span<const double>;
template SolvedRows DenseWork::solve_rows(double*, std::uint64_t, const RowProblem&, const OldDeviceRows<double>&,
                                          double*, Grams&);
template SolvedRows DenseWork::solve_rows(double*, std::uint64_t, const RowProblem&, const OldDeviceRows<float>&,
                                          float*, Grams&);
template SolvedRows DenseWork::solve_rows(float*, std::uint64_t, const RowProblem&, const OldDeviceRows<float>&, float*,
                                          Grams&);
template void DenseWork::scale_rows(const double*, std::uint64_t, Divisors, double, double*, Grams&);
template void DenseWork::scale_rows(const double*, std::uint64_t, Divisors, double, float*, Grams&);
template void DenseWork::scale_rows(const float*, std::uint64_t, Divisors, double, float*, Grams&);
template std::vector<double> DenseWork::gram(const double*, std::uint64_t);
template std::vector<double> DenseWork::gram(const float*, std::uint64_t);
template void merge_copies(double*, const double*, int, std::uint64_t, cudaStream_t);
template void merge_copies(float*, const float*, int, std::uint64_t, cudaStream_t);

}  // namespace blco::cuda
