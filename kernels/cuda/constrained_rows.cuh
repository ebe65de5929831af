// The steps of HALS and ADMM (RowProblem in kernels/backend.hpp) in f64: one thread per number where numbers do not
// depend on each other, else one per row. All but one are operations of cub::DeviceFor.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "blco/row_constraint.hpp"
#include "kernels/cuda/launch.cuh"

namespace blco::cuda {

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

namespace {

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

}  // namespace

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

}  // namespace blco::cuda
