// Systems of many columns, which are factored in steps: the results, and how soon they are given up.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "blco/error.hpp"
#include "kernels/row_solver.hpp"
#include "tests/random_tensor.hpp"

namespace blco::testing {
namespace {

// More than the rank from which factorisations go in steps, and no multiple of their panels.
constexpr int large_rank = 531;
constexpr std::size_t large = large_rank;

// B^T B + shift I for a random B of `inner` rows.
std::vector<double> large_system(std::uint64_t inner, double shift, std::uint64_t seed) {
  const auto b = random_matrix(inner, large_rank, seed);
  std::vector<double> gram(large * large);
  for (std::size_t i = 0; i < inner; ++i) {
    for (std::size_t j = 0; j < large; ++j) {
      for (std::size_t k = 0; k < large; ++k) gram[j * large + k] += b[i * large + j] * b[i * large + k];
    }
  }
  for (std::size_t j = 0; j < large; ++j) gram[j * large + j] += shift;
  return gram;
}

std::vector<double> product(std::span<const double> a, std::span<const double> b) {
  std::vector<double> c(large * large);
  for (std::size_t i = 0; i < large; ++i) {
    for (std::size_t k = 0; k < large; ++k) {
      for (std::size_t j = 0; j < large; ++j) c[i * large + j] += a[i * large + k] * b[k * large + j];
    }
  }
  return c;
}

double largest_difference(std::span<const double> a, std::span<const double> b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

double largest_entry(std::span<const double> a) {
  double largest = 0;
  for (const double x : a) largest = std::max(largest, std::abs(x));
  return largest;
}

TEST(StoppableFactors, OfADefiniteSystemMultiplyToIt) {
  const std::vector<double> v = large_system(40, 1.0, 5);

  const RowSolver solver(v, large_rank);

  ASSERT_TRUE(solver.is_cholesky());
  std::vector<double> lower(solver.lower().begin(), solver.lower().end());
  std::vector<double> upper(solver.matrix().begin(), solver.matrix().end());
  for (std::size_t j = 0; j < large; ++j) {
    lower[j * large + j] = 1 / lower[j * large + j];
    upper[j * large + j] = 1 / upper[j * large + j];
  }
  EXPECT_LT(largest_difference(product(lower, upper), v), 1e-13 * largest_entry(v));
}

TEST(StoppableFactors, OfASingularSystemGiveItsPseudoInverse) {
  for (const std::uint64_t inner : {std::uint64_t{1}, std::uint64_t{300}, std::uint64_t{500}}) {
    const std::vector<double> v = large_system(inner, 0, 6);

    const RowSolver solver(v, large_rank);

    // The conditions of Moore and Penrose.
    ASSERT_FALSE(solver.is_cholesky());
    EXPECT_EQ(solver.numerical_rank(), static_cast<int>(inner));
    const std::span<const double> p = solver.matrix();
    const std::vector<double> pv = product(p, v);
    EXPECT_LT(largest_difference(product(v, pv), v), 1e-8 * largest_entry(v));
    EXPECT_LT(largest_difference(product(pv, p), p), 1e-8 * largest_entry(p));
    for (std::size_t i = 0; i < large; ++i) {
      for (std::size_t j = 0; j < i; ++j) EXPECT_NEAR(pv[i * large + j], pv[j * large + i], 1e-8);
    }
  }
}

TEST(StoppableFactors, OfADiagonalAndOfAnEmptySystemAreExact) {
  std::vector<double> v(large * large);
  EXPECT_EQ(RowSolver(v, large_rank).numerical_rank(), 0);
  for (std::size_t j = 0; j < large; j += 2) v[j * large + j] = static_cast<double>(j + 1);

  const RowSolver solver(v, large_rank);

  EXPECT_EQ(solver.numerical_rank(), (large_rank + 1) / 2);
  for (std::size_t i = 0; i < large; ++i) {
    for (std::size_t j = 0; j < large; ++j) {
      const double expected = i == j && j % 2 == 0 ? 1 / static_cast<double>(j + 1) : 0;
      ASSERT_NEAR(solver.matrix()[i * large + j], expected, 1e-15) << i << ", " << j;
    }
  }
}

TEST(StoppableFactors, AreGivenUpAtAnyOfTheirSteps) {
  for (const double shift : {1.0, 0.0}) {
    const std::vector<double> v = large_system(40, shift, 7);
    int asked = 0;
    RowSolver(v, large_rank, [&] {
      ++asked;
      return false;
    });
    // A definite system has five panels of 128 columns; a singular one is asked about for each column too.
    EXPECT_GE(asked, shift > 0 ? 9 : 2 * large_rank);

    for (const int at : {1, 2, asked / 2, asked}) {
      int left = at;
      try {
        RowSolver(v, large_rank, [&] { return --left == 0; });
        ADD_FAILURE() << "not given up at step " << at;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::cancelled);
      }
      EXPECT_EQ(left, 0);
    }
  }
}

}  // namespace
}  // namespace blco::testing
