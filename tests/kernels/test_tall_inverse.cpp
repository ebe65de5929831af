// Pseudo-inverses of tall matrices, by hand and by what defines them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <vector>

#include "kernels/tall_inverse.hpp"

namespace blco {
namespace {

std::vector<double> inverted(std::vector<double> matrix, int rank) {
  invert_tall(matrix, rank);
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

}  // namespace
}  // namespace blco
