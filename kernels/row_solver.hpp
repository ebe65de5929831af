// Solves the R x R system of a row update, A V = M, row by row.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "blco/kernel_choice.hpp"

namespace blco {

// The share of the largest eigenvalue up to which, times R, another one counts as zero. In f64 and f32 that is what
// rounding adds to Grams. A direction of a small share makes components that cancel, 1 / sqrt(share) times as large as
// the tensor, and factors in f32 leave 6e-8 of that as an error. So mixed leaves out weak directions too.
constexpr double eigenvalue_cutoff(Precision precision) {
  return precision == Precision::f64   ? std::numeric_limits<double>::epsilon()
         : precision == Precision::f32 ? std::numeric_limits<float>::epsilon()
                                       : 1e-9;
}

// V is symmetric positive semidefinite. Uses Cholesky if V is positive definite as far as the cutoff says: every
// squared pivot above R * cutoff * the largest diagonal entry; beyond the cutoff of f64 and up to rank 128, every
// eigenvalue above R * cutoff * the largest. Otherwise uses the pseudo-inverse from V's eigenvalues, and treats those
// up to R * cutoff * the largest as zero.
//
// One thread, and nothing stops it: at rank 4096 Cholesky takes 1.5 seconds and the pseudo-inverse 70.
class RowSolver {
 public:
  // `v` is row-major R x R; only its lower triangle is read. Throws Error{invalid_argument} if that holds a number that
  // is not finite, or if `v` has not rank * rank numbers.
  RowSolver(std::span<const double> v, int rank, double cutoff = eigenvalue_cutoff(Precision::f64));

  int rank() const { return rank_; }
  double cutoff() const { return cutoff_; }
  bool is_cholesky() const { return cholesky_; }
  // R if Cholesky succeeded; otherwise the number of eigenvalues not treated as zero, at most R.
  int numerical_rank() const { return numerical_rank_; }

  // Row-major R x R. With Cholesky: L^T with inverted diagonal (row j holds 1/L_jj, then L_kj for k > j), for back
  // substitution by dot products along contiguous rows. Otherwise: the pseudo-inverse.
  std::span<const double> matrix() const { return matrix_; }
  // Cholesky only: L with inverted diagonal, row-major (row j holds L_jk for k < j, then 1/L_jj), for forward
  // substitution in the same way.
  std::span<const double> lower() const { return lower_; }

 private:
  int rank_ = 0;
  double cutoff_;
  int numerical_rank_ = 0;
  bool cholesky_ = false;
  std::vector<double> matrix_;
  std::vector<double> lower_;
};

}  // namespace blco
