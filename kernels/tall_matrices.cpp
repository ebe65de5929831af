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
#include <utility>

#include "kernels/part_ranges.hpp"

namespace blco {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using RowsMap = Eigen::Map<Rows>;
using ConstRowsMap = Eigen::Map<const Rows>;

// Rows of one decomposition, and of one product: so many that the triangular factor, which is decomposed with each
// block, adds little.
Index block_rows(Index columns) { return std::max<Index>(256, 4 * columns); }

// Blocks that are decomposed one after the other. The number depends on the matrix alone, and so do all bits.
Index group_count(Index rows, Index columns) {
  constexpr Index min_blocks = 4;
  constexpr Index max_groups = 8;
  return std::clamp<Index>(rows / block_rows(columns) / min_blocks, 1, max_groups);
}

// Calls visit(block of the first `columns` columns) for rows from `first` to before `last`.
template <class Matrix, class Visit>
void for_each_block(Matrix&& matrix, Index columns, Index first, Index last, const Visit& visit) {
  const Index most = block_rows(matrix.cols());
  for (Index at = first; at < last; at += most) visit(matrix.block(at, 0, std::min(most, last - at), columns));
}

// Calls visit(first, last) for groups of rows, on all threads.
template <class Visit>
void for_each_group(Index rows, Index columns, Executor& executor, const Visit& visit) {
  const Index groups = group_count(rows, columns);
  executor.run(static_cast<std::size_t>(groups), [&](std::size_t group) {
    const auto at = static_cast<Index>(group);
    visit(at, rows * at / groups, rows * (at + 1) / groups);
  });
}

// The triangular factor of the QR decomposition of [factor; block].
template <class Block>
MatrixXd stacked_factor(const MatrixXd& factor, const Block& block) {
  MatrixXd stacked(factor.rows() + block.rows(), block.cols());
  stacked << factor, block;
  const Eigen::HouseholderQR<Eigen::Ref<MatrixXd>> qr(stacked);
  return qr.matrixQR().topRows(block.cols()).template triangularView<Eigen::Upper>();
}

// The triangular factor of the QR decomposition of the first columns: of each group that of [factor so far; next
// block], repeatedly, and then that of the groups' factors.
template <class Matrix>
MatrixXd triangular_factor(Matrix&& matrix, Index columns, Executor& executor, const StopPoll& stop = {}) {
  const MatrixXd zero = MatrixXd::Zero(columns, columns);
  std::vector<MatrixXd> factors(static_cast<std::size_t>(group_count(matrix.rows(), matrix.cols())), zero);
  for_each_group(matrix.rows(), matrix.cols(), executor, [&](Index group, Index first, Index last) {
    MatrixXd& factor = factors[static_cast<std::size_t>(group)];
    for_each_block(matrix, columns, first, last, [&](const auto& block) {
      give_up_if(stop);
      factor = stacked_factor(factor, block);
    });
  });
  MatrixXd factor = std::move(factors.front());
  for (std::size_t group = 1; group < factors.size(); ++group) factor = stacked_factor(factor, factors[group]);
  return factor;
}

// Replaces each block by make(block), on all threads.
template <class Make>
void replace_blocks(RowsMap& matrix, Executor& executor, const Make& make, const StopPoll& stop = {}) {
  for_each_group(matrix.rows(), matrix.cols(), executor, [&](Index, Index first, Index last) {
    for_each_block(matrix, matrix.cols(), first, last, [&](auto block) {
      give_up_if(stop);
      const MatrixXd made = make(block);
      block.leftCols(made.cols()) = made;
    });
  });
}

// The share of a column, or of the largest singular value, that may be rounding alone.
double rounding_share(Index columns) {
  return 16 * static_cast<double>(columns) * std::numeric_limits<double>::epsilon();
}

MatrixXd square_of(std::span<const double> triangle) {
  const auto side = static_cast<Index>(std::lround(std::sqrt(static_cast<double>(triangle.size()))));
  return ConstRowsMap(triangle.data(), side, side);
}

std::vector<double> numbers_of(const MatrixXd& matrix) {
  std::vector<double> numbers(static_cast<std::size_t>(matrix.size()));
  RowsMap(numbers.data(), matrix.rows(), matrix.cols()) = matrix;
  return numbers;
}

// `to` = matrix * right, row-major.
void multiply_rows(const ConstRowsMap& matrix, const MatrixXd& right, Executor& executor, const StopPoll& stop,
                   std::span<double> to) {
  RowsMap product(to.data(), matrix.rows(), right.cols());
  for_each_group(matrix.rows(), matrix.cols(), executor, [&](Index, Index first, Index last) {
    const Index most = block_rows(matrix.cols());
    for (Index at = first; at < last; at += most) {
      give_up_if(stop);
      const Index rows = std::min(most, last - at);
      product.middleRows(at, rows).noalias() = matrix.middleRows(at, rows) * right;
    }
  });
}

// The right singular vectors of the `count` largest singular values; zeros for those of singular values that count as
// zero. `by_values`: each divided by its singular value.
MatrixXd leading_right_vectors(const MatrixXd& factor, Index count, bool by_values) {
  const Eigen::BDCSVD<MatrixXd> svd(factor, Eigen::ComputeFullV);
  const Eigen::VectorXd& values = svd.singularValues();  // falling
  const double threshold = rounding_share(factor.cols()) * values.maxCoeff();
  const Index kept = std::min<Index>(count, (values.array() > threshold).count());
  MatrixXd vectors = MatrixXd::Zero(factor.cols(), count);
  vectors.leftCols(kept) = svd.matrixV().leftCols(kept);
  if (by_values) vectors.leftCols(kept) *= values.head(kept).cwiseInverse().asDiagonal();
  return vectors;
}

}  // namespace

// Per group a stack and its parts, a block that is replaced, and the groups' factors; then the singular value
// decomposition of one.
std::uint64_t tall_scratch_bytes(std::uint64_t rows, std::uint64_t columns) {
  const auto side = static_cast<Index>(std::min(rows, columns));
  const auto length = static_cast<Index>(std::max(rows, columns));
  const Index groups = group_count(length, side);
  const Index rows_of_block = std::min(block_rows(side), length / groups + 1);
  const Index numbers = groups * (2 * (rows_of_block + side) * side + side * side) + 8 * side * side;
  return static_cast<std::uint64_t>(numbers) * sizeof(double);
}

std::vector<double> TallRows::peaks() const {
  const auto columns = static_cast<std::size_t>(columns_);
  std::vector<double> peaks(columns);
  for (std::size_t row = 0; row < numbers_.size(); row += columns) {
    for (std::size_t r = 0; r < columns; ++r) peaks[r] = peak_of(peaks[r], numbers_[row + r]);
  }
  return peaks;
}

std::vector<double> TallRows::triangle() const {
  const ConstRowsMap matrix(numbers_.data(), static_cast<Index>(numbers_.size()) / columns_, columns_);
  return numbers_of(triangular_factor(matrix, columns_, *executor_, stop_));
}

void TallRows::solve(std::span<const double> triangle) {
  RowsMap matrix(numbers_.data(), static_cast<Index>(numbers_.size()) / columns_, columns_);
  const MatrixXd factor = square_of(triangle);
  replace_blocks(
      matrix, *executor_,
      [&](const auto& block) -> MatrixXd {
        return factor.triangularView<Eigen::Upper>().solve<Eigen::OnTheRight>(MatrixXd(block));
      },
      stop_);
}

void TallRows::divide_columns(std::span<const double> divisors) {
  for (std::size_t row = 0; row < numbers_.size(); row += divisors.size()) {
    for (std::size_t r = 0; r < divisors.size(); ++r) numbers_[row + r] /= divisors[r];
  }
}

void TallRows::draw_column(int column) {
  std::mt19937_64 random(static_cast<std::uint64_t>(column));
  random.discard(first_row_);
  for (auto i = static_cast<std::size_t>(column); i < numbers_.size(); i += static_cast<std::size_t>(columns_)) {
    numbers_[i] = static_cast<double>(random() >> 11) * 0x1p-53 - 0.5;
  }
}

void TallRows::multiply(std::span<const double> right, int columns, std::span<double> to) const {
  const ConstRowsMap matrix(numbers_.data(), static_cast<Index>(numbers_.size()) / columns_, columns_);
  multiply_rows(matrix, ConstRowsMap(right.data(), columns_, columns), *executor_, stop_, to);
}

void add_transposed_product(std::span<const double> a, std::uint64_t columns, std::span<const double> b,
                            std::uint64_t width, std::span<double> product, Executor& executor, const StopPoll& stop) {
  constexpr std::uint64_t polled_numbers = std::uint64_t{1} << 13;
  run_shares(executor, width, [&](std::uint64_t begin, std::uint64_t end) {
    std::uint64_t numbers = 0;  // since the last poll
    for (std::uint64_t i = 0; i < b.size() / width; ++i) {
      numbers += columns * (end - begin);
      if (numbers >= polled_numbers) {
        give_up_if(stop);
        numbers = 0;
      }
      for (std::uint64_t r = 0; r < columns; ++r) {
        const double factor = a[i * columns + r];
        for (std::uint64_t c = begin; c < end; ++c) product[r * width + c] += factor * b[i * width + c];
      }
    }
  });
}

std::vector<double> join_triangles(std::span<const double> first, std::span<const double> second) {
  return numbers_of(stacked_factor(square_of(first), square_of(second)));
}

void orthonormalise_columns(TallMatrix& matrix) {
  // Squares of numbers beyond 1e154 would not be finite.
  double largest = 0;
  const std::vector<double> peaks = matrix.peaks();
  for (const double peak : peaks) largest = std::max(largest, std::abs(peak));
  if (largest > 0 && std::isfinite(largest)) matrix.divide_columns(std::vector<double>(peaks.size(), largest));
  MatrixXd factor = square_of(matrix.triangle());
  bool drawn = false;
  for (Index r = 0; r < factor.cols(); ++r) {
    if (std::abs(factor(r, r)) > rounding_share(factor.cols()) * factor.col(r).norm()) continue;
    matrix.draw_column(static_cast<int>(r));
    drawn = true;
  }
  if (drawn) factor = square_of(matrix.triangle());
  // The first quotient is orthonormal as far as the condition allows, that of the second is so but for rounding.
  for (int round = 0; round < 2; ++round) {
    if (round > 0) factor = square_of(matrix.triangle());
    for (Index r = 0; r < factor.cols(); ++r) {
      if (factor(r, r) < 0) factor.row(r) = -factor.row(r);
    }
    matrix.solve(numbers_of(factor));
  }
}

void orthonormalise_columns(std::span<double> numbers, int rank, Executor& executor, const StopPoll& stop) {
  TallRows matrix(numbers, rank, executor, stop);
  orthonormalise_columns(matrix);
}

std::vector<double> maker_of_left_vectors(std::span<const double> triangle, int count) {
  return numbers_of(leading_right_vectors(square_of(triangle), count, /*by_values=*/true));
}

void settle_left_vectors(TallMatrix& product) {
  orthonormalise_columns(product);
  std::vector<double> signs = product.peaks();
  for (double& number : signs) number = number < 0 ? -1.0 : 1.0;
  product.divide_columns(signs);
}

// Of A = Q F the left vectors are A V S^-1; of A^T = Q F they are V.
std::vector<double> leading_left_vectors(std::span<const double> numbers, int columns, int count, Executor& executor,
                                         const StopPoll& stop) {
  const ConstRowsMap matrix(numbers.data(), static_cast<Index>(numbers.size()) / columns, columns);
  std::vector<double> result(static_cast<std::size_t>(matrix.rows()) * static_cast<std::size_t>(count));
  if (matrix.rows() >= matrix.cols()) {
    const MatrixXd factor = triangular_factor(matrix, matrix.cols(), executor, stop);
    multiply_rows(matrix, leading_right_vectors(factor, count, /*by_values=*/true), executor, stop, result);
  } else {
    const MatrixXd factor = triangular_factor(matrix.transpose(), matrix.rows(), executor, stop);
    RowsMap(result.data(), matrix.rows(), count) = leading_right_vectors(factor, count, /*by_values=*/false);
  }
  TallRows vectors(result, count, executor, stop);
  settle_left_vectors(vectors);
  return result;
}

std::vector<double> principal_angles(std::span<const double> first, int first_columns, std::span<const double> second,
                                     int second_columns) {
  if (second_columns > first_columns) return principal_angles(second, second_columns, first, first_columns);
  const ConstRowsMap a(first.data(), static_cast<Index>(first.size()) / first_columns, first_columns);
  const ConstRowsMap b(second.data(), a.rows(), second_columns);
  const MatrixXd products = a.transpose() * b;
  const Eigen::JacobiSVD<MatrixXd> svd(products, Eigen::ComputeFullV);
  // What a space lacks of the other's principal vectors: their sines, which small angles keep.
  const MatrixXd rest = (b - a * products) * svd.matrixV();
  std::vector<double> angles;
  for (Index k = 0; k < second_columns; ++k) angles.push_back(std::atan2(rest.col(k).norm(), svd.singularValues()(k)));
  std::ranges::sort(angles);
  return angles;
}

// A V S^-1 has columns that are orthonormal but for rounding, which a second QR decomposition mends.
void invert_tall(std::span<double> numbers, int rank, Executor& executor) {
  RowsMap matrix(numbers.data(), static_cast<Index>(numbers.size()) / rank, rank);
  const Eigen::JacobiSVD<MatrixXd> svd(triangular_factor(matrix, rank, executor), Eigen::ComputeFullV);
  const Eigen::VectorXd& values = svd.singularValues();  // falling
  const double threshold = rounding_share(rank) * values.maxCoeff();
  const Index kept = (values.array() > threshold).count();
  if (kept == 0) {
    matrix.setZero();
    return;
  }
  const MatrixXd scaled = svd.matrixV().leftCols(kept) * values.head(kept).cwiseInverse().asDiagonal();
  replace_blocks(matrix, executor, [&](const auto& block) -> MatrixXd { return block * scaled; });
  // With that basis B = Q C, A = B S V^T, and so (A^+)^T = B C^-1 C^-T S^-1 V^T.
  const MatrixXd mend = triangular_factor(matrix, kept, executor);
  const auto upper = mend.triangularView<Eigen::Upper>();
  const MatrixXd last = upper.solve(MatrixXd(upper.transpose().solve(MatrixXd(scaled.transpose()))));
  replace_blocks(matrix, executor, [&](const auto& block) -> MatrixXd { return block.leftCols(kept) * last; });
}

}  // namespace blco
