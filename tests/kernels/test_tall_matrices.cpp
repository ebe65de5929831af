// Pseudo-inverses, bases and singular vectors of tall matrices, by hand and by what defines them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "kernels/tall_matrices.hpp"
#include "tests/thread_executor.hpp"

namespace blco {
namespace {

ThreadExecutor& on_threads() {
  static ThreadExecutor executor(3);
  return executor;
}

std::vector<double> inverted(std::vector<double> matrix, int rank) {
  invert_tall(matrix, rank, on_threads());
  return matrix;
}

TEST(TallInverse, DividesOrthogonalColumnsByTheirSquares) {
  const std::vector<double> matrix{3, 0, 4, 0, 0, 2};

  const std::vector<double> rows = inverted(matrix, 2);

  const std::vector<double> expected{3.0 / 25, 0, 4.0 / 25, 0, 0, 0.5};
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_NEAR(rows[i], expected[i], 1e-15);
}

TEST(TallInverse, SharesEqualColumns) {
  const std::vector<double> matrix{1, 1, 0, 0, 0, 0};

  const std::vector<double> rows = inverted(matrix, 2);

  const std::vector<double> expected{0.5, 0.5, 0, 0, 0, 0};
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_NEAR(rows[i], expected[i], 1e-15);
}

TEST(TallInverse, KeepsZerosOfAZeroMatrix) {
  const std::vector<double> rows = inverted(std::vector<double>(8, 0.0), 2);

  EXPECT_EQ(rows, std::vector<double>(8, 0.0));
}

TEST(TallInverse, TakesFewerRowsThanColumns) {
  const std::vector<double> matrix{2, 0, 0};

  const std::vector<double> rows = inverted(matrix, 3);

  const std::vector<double> expected{0.5, 0, 0};
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_NEAR(rows[i], expected[i], 1e-15);
}

// The condition is 1e8: its square, as in A^T A, would leave no correct digit.
TEST(TallInverse, InvertsNearlyDependentColumnsAcrossBlocks) {
  constexpr std::size_t length = 1031;
  constexpr std::size_t columns = 3;
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  std::vector<double> matrix;
  for (std::size_t i = 0; i < length; ++i) {
    const double x = normal(random);
    matrix.insert(matrix.end(), {x, x + 1e-8 * normal(random), normal(random)});
  }

  const std::vector<double> rows = inverted(matrix, static_cast<int>(columns));

  for (std::size_t r = 0; r < columns; ++r) {
    for (std::size_t s = 0; s < columns; ++s) {
      double sum = 0;
      for (std::size_t i = 0; i < length; ++i) sum += rows[i * columns + r] * matrix[i * columns + s];
      EXPECT_NEAR(sum, r == s ? 1.0 : 0.0, 1e-6) << r << ' ' << s;
    }
  }
}

std::vector<double> random_matrix(std::size_t rows, std::size_t columns) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> matrix(rows * columns);
  for (double& number : matrix) number = normal(random);
  return matrix;
}

// Of columns c and d of a row-major matrix.
double product_of(const std::vector<double>& matrix, std::size_t columns, std::size_t c, std::size_t d) {
  double sum = 0;
  for (std::size_t at = 0; at < matrix.size(); at += columns) sum += matrix[at + c] * matrix[at + d];
  return sum;
}

void expect_orthonormal(const std::vector<double>& matrix, std::size_t columns) {
  for (std::size_t c = 0; c < columns; ++c) {
    for (std::size_t d = 0; d <= c; ++d) EXPECT_NEAR(product_of(matrix, columns, c, d), c == d ? 1 : 0, 1e-14);
  }
}

// A matrix whose rows lie in two pieces.
class TwoParts final : public TallMatrix {
 public:
  TwoParts(std::span<double> numbers, int columns, std::size_t first_rows)
      : above_(numbers.first(first_rows * static_cast<std::size_t>(columns)), columns, on_threads()),
        below_(numbers.subspan(first_rows * static_cast<std::size_t>(columns)), columns, on_threads(), {}, first_rows) {
  }

  std::vector<double> peaks() const override {
    std::vector<double> peaks = above_.peaks();
    std::ranges::transform(peaks, below_.peaks(), peaks.begin(), peak_of);
    return peaks;
  }
  std::vector<double> triangle() const override { return join_triangles(above_.triangle(), below_.triangle()); }
  void solve(std::span<const double> triangle) override {
    both([&](TallRows& part) { part.solve(triangle); });
  }
  void divide_columns(std::span<const double> divisors) override {
    both([&](TallRows& part) { part.divide_columns(divisors); });
  }
  void draw_column(int column) override {
    both([&](TallRows& part) { part.draw_column(column); });
  }

 private:
  void both(const std::function<void(TallRows&)>& work) {
    work(above_);
    work(below_);
  }

  TallRows above_;
  TallRows below_;
};

TEST(OrthonormalColumns, OfPartsAreThoseOfTheWhole) {
  constexpr std::size_t columns = 4;
  std::vector<double> matrix = random_matrix(5000, columns);
  for (std::size_t at = 0; at < matrix.size(); at += columns) matrix[at + 2] = matrix[at] - matrix[at + 1];
  std::vector<double> whole = matrix;
  orthonormalise_columns(whole, columns, on_threads());
  expect_orthonormal(whole, columns);
  for (const std::size_t first_rows : {0UL, 1UL, 2UL, 1700UL, 4999UL, 5000UL}) {
    std::vector<double> basis = matrix;
    TwoParts parts(basis, columns, first_rows);

    orthonormalise_columns(parts);

    for (std::size_t i = 0; i < basis.size(); ++i) ASSERT_NEAR(basis[i], whole[i], 1e-13) << i << ' ' << first_rows;
  }
}

TEST(OrthonormalColumns, SpanThoseOfTheMatrix) {
  constexpr std::size_t columns = 4;
  const std::vector<double> matrix = random_matrix(5000, columns);
  std::vector<double> basis = matrix;
  std::vector<double> serial = matrix;
  SerialExecutor one_thread;

  orthonormalise_columns(basis, columns, on_threads());
  orthonormalise_columns(serial, columns, one_thread);

  EXPECT_EQ(basis, serial);
  expect_orthonormal(basis, columns);
  // A = Q C, with C = Q^T A upper triangular and positive on its diagonal.
  std::vector<double> triangle(columns * columns);
  for (std::size_t at = 0; at < matrix.size(); at += columns) {
    for (std::size_t c = 0; c < columns; ++c) {
      for (std::size_t d = 0; d < columns; ++d) triangle[c * columns + d] += basis[at + c] * matrix[at + d];
    }
  }
  for (std::size_t c = 0; c < columns; ++c) {
    EXPECT_GT(triangle[c * columns + c], 0);
    for (std::size_t d = 0; d < c; ++d) EXPECT_NEAR(triangle[c * columns + d], 0, 1e-12);
  }
  for (std::size_t at = 0; at < matrix.size(); at += columns) {
    for (std::size_t d = 0; d < columns; ++d) {
      double sum = 0;
      for (std::size_t c = 0; c < columns; ++c) sum += basis[at + c] * triangle[c * columns + d];
      EXPECT_NEAR(sum, matrix[at + d], 1e-12);
    }
  }
}

TEST(OrthonormalColumns, ReplaceThoseThatDependOnOthers) {
  constexpr std::size_t columns = 4;
  std::vector<double> matrix = random_matrix(300, columns);
  for (std::size_t at = 0; at < matrix.size(); at += columns) {
    matrix[at + 1] = 0;
    matrix[at + 2] = 3 * matrix[at];
    matrix[at + 3] *= 1e-200;
  }
  std::vector<double> again = matrix;

  orthonormalise_columns(matrix, columns, on_threads());
  orthonormalise_columns(again, columns, on_threads());

  expect_orthonormal(matrix, columns);
  EXPECT_EQ(matrix, again);
}

// U diag(values) V^T of I x K, with the columns of U and V orthonormal.
std::vector<double> with_singular_values(const std::vector<double>& left, const std::vector<double>& values,
                                         const std::vector<double>& right) {
  const std::size_t count = values.size();
  std::vector<double> matrix;
  for (std::size_t i = 0; i < left.size(); i += count) {
    for (std::size_t k = 0; k < right.size(); k += count) {
      double sum = 0;
      for (std::size_t r = 0; r < count; ++r) sum += left[i + r] * values[r] * right[k + r];
      matrix.push_back(sum);
    }
  }
  return matrix;
}

TEST(LeadingLeftVectors, AreThoseOfALongAndOfAWideMatrix) {
  const std::vector<double> values{4, 1e-3, 1e-9};
  for (const auto& [rows, columns] : {std::pair<std::size_t, std::size_t>{5000, 20}, {20, 5000}}) {
    std::vector<double> left = random_matrix(rows, 3);
    std::vector<double> right = random_matrix(columns, 3);
    orthonormalise_columns(left, 3, on_threads());
    orthonormalise_columns(right, 3, on_threads());

    const std::vector<double> vectors =
        leading_left_vectors(with_singular_values(left, values, right), static_cast<int>(columns), 3, on_threads());

    expect_orthonormal(vectors, 3);
    for (std::size_t r = 0; r < 3; ++r) {
      double cosine = 0;
      double largest = 0;
      for (std::size_t at = r; at < vectors.size(); at += 3) {
        cosine += vectors[at] * left[at];
        if (std::abs(vectors[at]) > std::abs(largest)) largest = vectors[at];
      }
      // A Gram matrix would have lost the last one: 1e-18 beside 16.
      EXPECT_NEAR(std::abs(cosine), 1, 1e-10) << r;
      EXPECT_GT(largest, 0);
    }
  }
}

TEST(LeadingLeftVectors, AreOrthonormalBeyondTheRank) {
  std::vector<double> matrix(12 * 5);
  for (std::size_t i = 0; i < 12; ++i) matrix[i * 5 + 2] = static_cast<double>(i);

  const std::vector<double> vectors = leading_left_vectors(matrix, 5, 4, on_threads());

  expect_orthonormal(vectors, 4);
  EXPECT_NEAR(vectors[11 * 4], 11 / std::sqrt(506.0), 1e-14);
  EXPECT_EQ(leading_left_vectors(matrix, 5, 4, on_threads()), vectors);
}

}  // namespace
}  // namespace blco
