// Factorisations of a symmetric matrix in steps, so that one of thousands of rows can be given up: Eigen's own take
// minutes there, and cannot.
#pragma once

#include <Eigen/Core>

#include "kernels/stop_poll.hpp"

namespace blco {

using SystemMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Overwrites the lower triangle of `matrix` by its Cholesky factor L, a panel of columns at a time. Returns false, with
// the triangle in disorder, if a pivot is not above 0.
bool factor_lower(SystemMatrix& matrix, const StopPoll& stop);

struct SymmetricEigen {
  Eigen::VectorXd values;   // in no order
  Eigen::MatrixXd vectors;  // column j belongs to values[j]; orthonormal
  bool converged = false;
};

// Reads the lower triangle of `matrix`. Householder tridiagonalisation, then implicit QR steps with Wilkinson's shift
// (Golub & Van Loan, Matrix Computations, sections 8.3.1 to 8.3.3). Takes four matrices of memory.
SymmetricEigen find_eigenvectors(const SystemMatrix& matrix, const StopPoll& stop);

}  // namespace blco
