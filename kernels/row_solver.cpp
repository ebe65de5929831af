// Factors the system of a row update once: by Cholesky, or by eigenvalues if V is singular to working precision.
#include "kernels/row_solver.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include "blco/error.hpp"
#include "kernels/stoppable_factors.hpp"

namespace blco {
namespace {

using Matrix = SystemMatrix;
using MatrixMap = Eigen::Map<Matrix>;

// From here on Eigen's own factorisations take so long that one waits for them.
constexpr int min_stoppable_rank = 512;

Matrix checked_copy(std::span<const double> v, int rank) {
  if (rank < 1 || v.size() != static_cast<std::size_t>(rank) * static_cast<std::size_t>(rank)) {
    throw Error(ErrorKind::invalid_argument, "row solver: a matrix of rank x rank is required, but there are " +
                                                 std::to_string(v.size()) + " numbers for rank " +
                                                 std::to_string(rank));
  }
  Matrix copy = Eigen::Map<const Matrix>(v.data(), rank, rank);
  for (int i = 0; i < rank; ++i) {
    for (int j = 0; j <= i; ++j) {
      if (!std::isfinite(copy(i, j))) {
        throw Error(ErrorKind::invalid_argument,
                    "the normal equations are not finite at (" + std::to_string(i) + ", " + std::to_string(j) +
                        "): the values or the initial factors are too large; scale them down");
      }
    }
  }
  return copy;
}

double relative_tolerance(int rank) { return rank * std::numeric_limits<double>::epsilon(); }

// True if every squared pivot exceeds the rounding errors of its elimination.
bool is_definite(const Matrix& lower, const Matrix& v) {
  const double threshold = relative_tolerance(static_cast<int>(v.rows())) * v.diagonal().maxCoeff();
  return (lower.diagonal().array().square() > threshold).all();
}

// Writes the Cholesky factor into the lower triangle of `out`. Returns false if V is not definite.
bool factor(const Matrix& v, Matrix& out, const StopPoll& stop) {
  if (v.rows() >= min_stoppable_rank) {
    out = v;
    return factor_lower(out, stop) && is_definite(out, v);
  }
  const Eigen::LLT<Matrix> factored(v);
  if (factored.info() != Eigen::Success) return false;
  out = factored.matrixLLT();
  return is_definite(out, v);
}

SymmetricEigen eigenvectors(const Matrix& v, const StopPoll& stop) {
  if (v.rows() >= min_stoppable_rank) return find_eigenvectors(v, stop);
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(v);
  return {solver.eigenvalues(), solver.eigenvectors(), solver.info() == Eigen::Success};
}

// Returns the number of eigenvalues not treated as zero.
int write_pseudo_inverse(const Matrix& v, MatrixMap out, const StopPoll& stop) {
  const SymmetricEigen eigen = eigenvectors(v, stop);
  if (!eigen.converged) {
    throw Error(ErrorKind::invalid_argument,
                "the eigenvalues of the normal equations do not converge; scale the initial factors down");
  }
  const double threshold = relative_tolerance(static_cast<int>(v.rows())) * eigen.values.cwiseAbs().maxCoeff();
  const Eigen::VectorXd inverted =
      eigen.values.unaryExpr([threshold](double value) { return value > threshold ? 1.0 / value : 0.0; });
  constexpr Eigen::Index panel_rows = min_stoppable_rank / 4;
  const Eigen::Index n = v.rows();
  for (Eigen::Index first = 0; first < n; first += n < min_stoppable_rank ? n : panel_rows) {
    give_up_if(stop);
    const Eigen::Index rows = n < min_stoppable_rank ? n : std::min(panel_rows, n - first);
    out.middleRows(first, rows).noalias() =
        eigen.vectors.middleRows(first, rows) * inverted.asDiagonal() * eigen.vectors.transpose();
  }
  return static_cast<int>((inverted.array() != 0).count());
}

}  // namespace

RowSolver::RowSolver(std::span<const double> v, int rank, const StopPoll& stop) : rank_(rank), numerical_rank_(rank) {
  const Matrix copy = checked_copy(v, rank);
  matrix_.resize(v.size());
  MatrixMap matrix(matrix_.data(), rank, rank);
  {
    Matrix factored;
    cholesky_ = factor(copy, factored, stop);
    if (cholesky_) {
      lower_.resize(v.size());
      MatrixMap lower(lower_.data(), rank, rank);
      lower = factored.triangularView<Eigen::Lower>();
      lower.diagonal() = lower.diagonal().cwiseInverse();
      matrix = lower.transpose();
      return;
    }
  }
  numerical_rank_ = write_pseudo_inverse(copy, matrix, stop);
}

}  // namespace blco
