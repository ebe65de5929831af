// The factorisation of a row update's system.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "blco/error.hpp"
#include "kernels/row_solver.hpp"
#include "tests/random_tensor.hpp"

namespace blco::testing {
namespace {

// B^T B for a random B of `inner` rows: definite for inner >= rank, else of rank `inner`.
std::vector<double> random_gram(int rank, std::uint64_t inner, std::uint64_t seed) {
  const auto columns = static_cast<std::size_t>(rank);
  const auto b = random_matrix(inner, rank, seed);
  std::vector<double> gram(columns * columns);
  for (std::size_t i = 0; i < inner; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      for (std::size_t k = 0; k < columns; ++k) gram[j * columns + k] += b[i * columns + j] * b[i * columns + k];
    }
  }
  return gram;
}

TEST(RowSolver, FactorsADefiniteMatrix) {
  for (const int rank : {1, 2, 3, 16, 33, 70, 131}) {
    const auto n = static_cast<std::size_t>(rank);
    const auto v = random_gram(rank, 2 * n + 1, 1);

    const RowSolver solver(v, rank);

    ASSERT_TRUE(solver.is_cholesky());
    EXPECT_EQ(solver.numerical_rank(), rank);
    const auto entry = [&](std::size_t j, std::size_t k) {
      return j == k ? 1.0 / solver.lower()[j * n + j] : solver.lower()[j * n + k];
    };
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k <= j; ++k) {
        double product = 0;
        for (std::size_t i = 0; i <= k; ++i) product += entry(j, i) * entry(k, i);
        EXPECT_NEAR(product, v[j * n + k], 1e-13 * static_cast<double>(n));
        EXPECT_EQ(solver.matrix()[k * n + j], solver.lower()[j * n + k]);
      }
    }
  }
}

TEST(RowSolver, ReadsOnlyTheLowerTriangle) {
  auto v = random_gram(5, 9, 2);
  const RowSolver expected(v, 5);
  for (std::size_t j = 0; j < 5; ++j) {
    for (std::size_t k = j + 1; k < 5; ++k) v[j * 5 + k] = std::numeric_limits<double>::quiet_NaN();
  }

  const RowSolver solver(v, 5);

  EXPECT_TRUE(std::ranges::equal(solver.matrix(), expected.matrix()));
}

TEST(RowSolver, TakesThePseudoInverseOfASingularMatrix) {
  for (const int rank : {2, 7, 33, 131}) {
    const auto n = static_cast<std::size_t>(rank);
    const auto v = random_gram(rank, n - 1, 3);

    const RowSolver solver(v, rank);

    // The conditions of Moore and Penrose that do not follow from symmetry.
    ASSERT_FALSE(solver.is_cholesky());
    EXPECT_EQ(solver.numerical_rank(), rank - 1);
    const auto p = solver.matrix();
    const auto multiply = [n](auto a, auto b) {
      std::vector<double> c(n * n);
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < n; ++k) {
          for (std::size_t j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
        }
      }
      return c;
    };
    const auto vpv = multiply(multiply(v, p), v);
    const auto pvp = multiply(multiply(p, v), p);
    const double largest_p = *std::ranges::max_element(p);
    for (std::size_t i = 0; i < n * n; ++i) {
      EXPECT_NEAR(vpv[i], v[i], 1e-9 * static_cast<double>(n) * std::max(1.0, largest_p));
      EXPECT_NEAR(pvp[i], p[i], 1e-9 * static_cast<double>(n) * std::max(1.0, largest_p) * std::max(1.0, largest_p));
    }
  }
}

TEST(RowSolver, TakesEqualColumnsForSingular) {
  const std::vector<double> v{1.0, 1.0, 1.0, 1.0};

  const RowSolver solver(v, 2);

  ASSERT_FALSE(solver.is_cholesky());
  EXPECT_EQ(solver.numerical_rank(), 1);
  for (const double entry : solver.matrix()) EXPECT_NEAR(entry, 0.25, 1e-15);
}

TEST(RowSolver, GivesZeroForAZeroMatrix) {
  const std::vector<double> v(9, 0.0);

  const RowSolver solver(v, 3);

  EXPECT_FALSE(solver.is_cholesky());
  EXPECT_EQ(solver.numerical_rank(), 0);
  for (const double entry : solver.matrix()) EXPECT_EQ(entry, 0.0);
}

TEST(RowSolver, KeepsCholeskyForABadlyConditionedMatrix) {
  const std::vector<double> v{1.0, 1.0, 1.0, 1.0 + 1e-12};

  const RowSolver solver(v, 2);

  EXPECT_TRUE(solver.is_cholesky());
}

TEST(RowSolver, RefusesNumbersThatAreNotFinite) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    std::vector<double> v{1.0, 0.0, bad, 1.0};

    EXPECT_THROW(RowSolver(v, 2), Error);
  }
}

TEST(RowSolver, RefusesAMatrixOfAnotherSize) {
  const std::vector<double> v(4, 1.0);

  EXPECT_THROW(RowSolver(v, 3), Error);
  EXPECT_THROW(RowSolver(v, 0), Error);
}

}  // namespace
}  // namespace blco::testing
