// By A = Q F, F = U S V^T.
#include "kernels/tall_matrices.hpp"

#include <Eigen/Core>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace blco {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using RowsMap = Eigen::Map<Rows>;
using ConstRowsMap = Eigen::Map<const Rows>;

// Rows of one decomposition, and of one product: they stay in the core's cache.
template <class Matrix>
Index block_rows(const Matrix& matrix) {
  return std::max<Index>(256, matrix.cols());
}

// Calls visit(block of the first `columns` columns).
template <class Matrix, class Visit>
void for_each_block(Matrix&& matrix, Index columns, const Visit& visit) {
  for (Index at = 0; at < matrix.rows(); at += block_rows(matrix)) {
    visit(matrix.block(at, 0, std::min(block_rows(matrix), matrix.rows() - at), columns));
  }
}

// The triangular factor of the QR decomposition of the first columns: that of [factor so far; next rows], repeatedly.
template <class Matrix>
MatrixXd triangular_factor(Matrix&& matrix, Index columns) {
  MatrixXd factor = MatrixXd::Zero(columns, columns);
  for_each_block(matrix, columns, [&](const auto& block) {
    MatrixXd stacked(columns + block.rows(), columns);
    stacked << factor, block;
    const Eigen::HouseholderQR<MatrixXd> qr(stacked);
    factor = qr.matrixQR().topRows(columns).template triangularView<Eigen::Upper>();
  });
  return factor;
}

// Replaces the columns by themselves times `factor`^-1.
void divide_columns(RowsMap& matrix, const MatrixXd& factor) {
  for_each_block(matrix, matrix.cols(), [&](auto block) {
    const MatrixXd divided = factor.triangularView<Eigen::Upper>().solve<Eigen::OnTheRight>(MatrixXd(block));
    block = divided;
  });
}

// The share of a column, or of the largest singular value, that may be rounding alone.
double rounding_share(Index columns) {
  return 16 * static_cast<double>(columns) * std::numeric_limits<double>::epsilon();
}

void draw_column(RowsMap& matrix, Index column) {
  std::mt19937_64 random(static_cast<std::uint64_t>(column));
  for (Index i = 0; i < matrix.rows(); ++i) matrix(i, column) = static_cast<double>(random() >> 11) * 0x1p-53 - 0.5;
}

}  // namespace

void orthonormalise_columns(std::span<double> numbers, int rank) {
  RowsMap matrix(numbers.data(), static_cast<Index>(numbers.size()) / rank, rank);
  MatrixXd factor = triangular_factor(matrix, rank);
  bool drawn = false;
  for (Index r = 0; r < rank; ++r) {
    if (std::abs(factor(r, r)) > rounding_share(rank) * factor.col(r).norm()) continue;
    draw_column(matrix, r);
    drawn = true;
  }
  if (drawn) factor = triangular_factor(matrix, rank);
  // The first quotient is orthonormal as far as the condition allows, that of the second is so but for rounding.
  for (int round = 0; round < 2; ++round) {
    if (round > 0) factor = triangular_factor(matrix, rank);
    for (Index r = 0; r < rank; ++r) {
      if (factor(r, r) < 0) factor.row(r) = -factor.row(r);
    }
    divide_columns(matrix, factor);
  }
}

std::vector<double> leading_left_vectors(std::span<const double> numbers, int columns, int count) {
  const ConstRowsMap matrix(numbers.data(), static_cast<Index>(numbers.size()) / columns, columns);
  const bool is_tall = matrix.rows() >= matrix.cols();
  // Of A = Q F the left vectors are A V S^-1; of A^T = Q F they are V.
  const MatrixXd factor =
      is_tall ? triangular_factor(matrix, matrix.cols()) : triangular_factor(matrix.transpose(), matrix.rows());
  const Eigen::BDCSVD<MatrixXd> svd(factor, Eigen::ComputeFullV);
  const Eigen::VectorXd& values = svd.singularValues();
  const double threshold = rounding_share(factor.cols()) * values.maxCoeff();
  const Index kept = std::min<Index>(count, (values.array() > threshold).count());
  std::vector<double> result(static_cast<std::size_t>(matrix.rows()) * static_cast<std::size_t>(count));
  RowsMap vectors(result.data(), matrix.rows(), count);
  if (is_tall) {
    const MatrixXd scaled = svd.matrixV().leftCols(kept) * values.head(kept).cwiseInverse().asDiagonal();
    for (Index at = 0; at < matrix.rows(); at += block_rows(matrix)) {
      const Index rows = std::min(block_rows(matrix), matrix.rows() - at);
      vectors.block(at, 0, rows, kept) = matrix.middleRows(at, rows) * scaled;
    }
  } else {
    vectors.leftCols(kept) = svd.matrixV().leftCols(kept);
  }
  orthonormalise_columns(result, count);
  for (Index r = 0; r < count; ++r) {
    Index largest = 0;
    vectors.col(r).cwiseAbs().maxCoeff(&largest);
    if (vectors(largest, r) < 0) vectors.col(r) = -vectors.col(r);
  }
  return result;
}

// A V S^-1 has columns that are orthonormal but for rounding, which a second QR decomposition mends.
void invert_tall(std::span<double> numbers, int rank) {
  RowsMap matrix(numbers.data(), static_cast<Index>(numbers.size()) / rank, rank);
  const Eigen::JacobiSVD<MatrixXd> svd(triangular_factor(matrix, rank), Eigen::ComputeFullV);
  const Eigen::VectorXd& values = svd.singularValues();  // falling
  const double threshold = rounding_share(rank) * values.maxCoeff();
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
