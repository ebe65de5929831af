// Factors the system of a row update once: by Cholesky, or by eigenvalues if V is singular to working precision.
#include "kernels/row_solver.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <cmath>
#include <cstddef>
#include <string>

#include "blco/refuse.hpp"

namespace blco {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using MatrixMap = Eigen::Map<Matrix>;

Matrix checked_copy(std::span<const double> v, int rank) {
  if (rank < 1 || v.size() != static_cast<std::size_t>(rank) * static_cast<std::size_t>(rank)) {
    refuse("row solver: a matrix of rank x rank is required, but there are " + std::to_string(v.size()) +
           " numbers for rank " + std::to_string(rank));
  }
  Matrix copy = Eigen::Map<const Matrix>(v.data(), rank, rank);
  for (int i = 0; i < rank; ++i) {
    for (int j = 0; j <= i; ++j) {
      if (!std::isfinite(copy(i, j))) {
        refuse("the normal equations are not finite at (" + std::to_string(i) + ", " + std::to_string(j) +
               "): the values or the initial factors are too large; scale them down");
      }
    }
  }
  return copy;
}

// True if every squared pivot exceeds the cutoff. Pivots may be far larger than the least eigenvalue, which matters
// where more than the rounding of f64 is cut off; of large matrices all eigenvalues would take too long.
bool is_definite(const Matrix& lower, const Matrix& v, double cutoff) {
  constexpr Eigen::Index largest = 128;
  const double share = static_cast<double>(v.rows()) * cutoff;
  if (cutoff > eigenvalue_cutoff(Precision::f64) && v.rows() <= largest) {
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(v, Eigen::EigenvaluesOnly);
    return eigen.info() == Eigen::Success && eigen.eigenvalues()[0] > share * eigen.eigenvalues()[v.rows() - 1];
  }
  return (lower.diagonal().array().square() > share * v.diagonal().maxCoeff()).all();
}

// Returns the number of eigenvalues not treated as zero.
int write_pseudo_inverse(const Matrix& v, double cutoff, MatrixMap out) {
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(v);
  if (eigen.info() != Eigen::Success) {
    refuse("the eigenvalues of the normal equations do not converge; scale the initial factors down");
  }
  const double threshold = static_cast<double>(v.rows()) * cutoff * eigen.eigenvalues().cwiseAbs().maxCoeff();
  const Eigen::VectorXd inverted =
      eigen.eigenvalues().unaryExpr([threshold](double value) { return value > threshold ? 1.0 / value : 0.0; });
  out.noalias() = eigen.eigenvectors() * inverted.asDiagonal() * eigen.eigenvectors().transpose();
  return static_cast<int>((inverted.array() != 0).count());
}

}  // namespace

RowSolver::RowSolver(std::span<const double> v, int rank, double cutoff)
    : rank_(rank), cutoff_(cutoff), numerical_rank_(rank) {
  const Matrix copy = checked_copy(v, rank);
  matrix_.resize(v.size());
  MatrixMap matrix(matrix_.data(), rank, rank);
  {
    const Eigen::LLT<Matrix> factored(copy);
    cholesky_ = factored.info() == Eigen::Success && is_definite(factored.matrixLLT(), copy, cutoff);
    if (cholesky_) {
      lower_.resize(v.size());
      MatrixMap lower(lower_.data(), rank, rank);
      lower = factored.matrixL();
      lower.diagonal() = lower.diagonal().cwiseInverse();
      matrix = lower.transpose();
      return;
    }
  }
  numerical_rank_ = write_pseudo_inverse(copy, cutoff, matrix);
}

}  // namespace blco
