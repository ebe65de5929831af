// Initial factors: fixed by seed, mode and place; uniform.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "engine/fit/initial_factors.hpp"

namespace blco {
namespace {

std::vector<double> initial_rows(std::uint64_t seed, int mode, std::uint64_t first_row, std::uint64_t count, int rank,
                                 Start start = Start::uniform) {
  std::vector<double> rows(count * static_cast<std::uint64_t>(rank));
  fill_initial_rows(seed, mode, first_row, rank, rows, start);
  return rows;
}

TEST(InitialFactors, AreUniformInZeroToOne) {
  const auto factor = initial_rows(1, 0, 0, 10000, 10);

  const double mean = std::accumulate(factor.begin(), factor.end(), 0.0) / static_cast<double>(factor.size());
  double variance = 0;
  for (const double x : factor) variance += (x - mean) * (x - mean) / static_cast<double>(factor.size());
  EXPECT_GE(*std::min_element(factor.begin(), factor.end()), 0);
  EXPECT_LT(*std::max_element(factor.begin(), factor.end()), 1);
  EXPECT_NEAR(mean, 0.5, 0.005);
  EXPECT_NEAR(variance, 1.0 / 12, 0.002);
}

// Mean, and mean of the squares and of the fourth powers.
std::vector<double> moments_of(const std::vector<double>& numbers) {
  std::vector<double> sums(3);
  for (const double x : numbers) {
    sums[0] += x;
    sums[1] += x * x;
    sums[2] += x * x * x * x;
  }
  for (double& sum : sums) sum /= static_cast<double>(numbers.size());
  return sums;
}

TEST(InitialFactors, MayBeCenteredOrNormal) {
  const auto uniform = initial_rows(1, 0, 0, 10000, 10);
  const auto centered = initial_rows(1, 0, 0, 10000, 10, Start::centered);
  const auto normal = moments_of(initial_rows(1, 0, 0, 10000, 10, Start::normal));

  for (std::size_t i = 0; i < uniform.size(); ++i) ASSERT_EQ(centered[i], uniform[i] - 0.5);
  EXPECT_NEAR(normal[0], 0, 0.01);
  EXPECT_NEAR(normal[1], 1, 0.02);
  EXPECT_NEAR(normal[2], 3, 0.15);
}

TEST(InitialFactors, DifferBySeedAndMode) {
  EXPECT_EQ(initial_rows(1, 0, 0, 5, 3), initial_rows(1, 0, 0, 5, 3));
  EXPECT_NE(initial_rows(1, 0, 0, 5, 3), initial_rows(2, 0, 0, 5, 3));
  EXPECT_NE(initial_rows(1, 0, 0, 5, 3), initial_rows(1, 1, 0, 5, 3));
}

TEST(InitialFactors, AreTheSameInPiecesAsInOne) {
  for (const Start start : {Start::uniform, Start::normal}) {
    auto pieces = initial_rows(4, 2, 0, 3, 5, start);
    const auto rest = initial_rows(4, 2, 3, 7, 5, start);
    pieces.insert(pieces.end(), rest.begin(), rest.end());

    EXPECT_EQ(pieces, initial_rows(4, 2, 0, 10, 5, start));
  }
}

}  // namespace
}  // namespace blco
