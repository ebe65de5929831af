// A = Q F, F = U S V^T. A V S^-1 has columns that are orthonormal but for rounding, which a second QR decomposition
// mends.
#include "kernels/tall_inverse.hpp"

#include <Eigen/Core>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <limits>

namespace blco {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using RowsMap = Eigen::Map<Rows>;

// Rows of one decomposition, and of one product: they stay in the core's cache.
Index block_rows(const RowsMap& matrix) { return std::max<Index>(256, matrix.cols()); }

// Calls visit(block of the first `columns` columns).
template <class Visit>
void for_each_block(RowsMap& matrix, Index columns, const Visit& visit) {
  for (Index at = 0; at < matrix.rows(); at += block_rows(matrix)) {
    visit(matrix.block(at, 0, std::min(block_rows(matrix), matrix.rows() - at), columns));
  }
}

// The triangular factor of the QR decomposition of the first columns: that of [factor so far; next rows], repeatedly.
MatrixXd triangular_factor(RowsMap& matrix, Index columns) {
  MatrixXd factor = MatrixXd::Zero(columns, columns);
  for_each_block(matrix, columns, [&](const auto& block) {
    MatrixXd stacked(columns + block.rows(), columns);
    stacked << factor, block;
    const Eigen::HouseholderQR<MatrixXd> qr(stacked);
    factor = qr.matrixQR().topRows(columns).template triangularView<Eigen::Upper>();
  });
  return factor;
}

}  // namespace

void invert_tall(std::span<double> numbers, int rank) {
  RowsMap matrix(numbers.data(), static_cast<Index>(numbers.size()) / rank, rank);
  const Eigen::JacobiSVD<MatrixXd> svd(triangular_factor(matrix, rank), Eigen::ComputeFullV);
  const Eigen::VectorXd& values = svd.singularValues();  // falling
  const double threshold = 16 * static_cast<double>(rank) * std::numeric_limits<double>::epsilon() * values.maxCoeff();
  const Index kept = (values.array() > threshold).count();
  if (kept == 0) {
    matrix.setZero();
    return;
  }
  const MatrixXd scaled = svd.matrixV().leftCols(kept) * values.head(kept).cwiseInverse().asDiagonal();
  for_each_block(matrix, rank, [&](auto block) {
    const MatrixXd basis = block * scaled;
    block.leftCols(kept) = basis;
  });
  // With that basis B = Q C, A = B S V^T, and so (A^+)^T = B C^-1 C^-T S^-1 V^T.
  const MatrixXd mend = triangular_factor(matrix, kept);
  const auto upper = mend.triangularView<Eigen::Upper>();
  const MatrixXd last = upper.solve(MatrixXd(upper.transpose().solve(MatrixXd(scaled.transpose()))));
  for_each_block(matrix, rank, [&](auto block) {
    const MatrixXd inverse = block.leftCols(kept) * last;
    block = inverse;
  });
}

}  // namespace blco
