// Initial factors: fixed by seed, mode and place; uniform.
#include "engine/initial_factors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace blco {
namespace {

TEST(InitialFactors, AreUniformInZeroToOne) {
  const auto factor = initial_factor(1, 0, 10000, 10);

  const double mean = std::accumulate(factor.begin(), factor.end(), 0.0) / static_cast<double>(factor.size());
  double variance = 0;
  for (const double x : factor) variance += (x - mean) * (x - mean) / static_cast<double>(factor.size());
  EXPECT_GE(*std::min_element(factor.begin(), factor.end()), 0);
  EXPECT_LT(*std::max_element(factor.begin(), factor.end()), 1);
  EXPECT_NEAR(mean, 0.5, 0.005);
  EXPECT_NEAR(variance, 1.0 / 12, 0.002);
}

TEST(InitialFactors, DifferBySeedAndMode) {
  EXPECT_EQ(initial_factor(1, 0, 5, 3), initial_factor(1, 0, 5, 3));
  EXPECT_NE(initial_factor(1, 0, 5, 3), initial_factor(2, 0, 5, 3));
  EXPECT_NE(initial_factor(1, 0, 5, 3), initial_factor(1, 1, 5, 3));
}

}  // namespace
}  // namespace blco
