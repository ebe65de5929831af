// The library L-BFGS-B behind our interface: known minima, bounds, and every way to end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "engine/fit/methods/lbfgs_b.hpp"

namespace blco {
namespace {

// sum (i + 1) (x_i - c_i)^2 with c = -1, 0, 1, 2, -1, ...
double target(std::size_t i) { return static_cast<double>(i % 4) - 1; }

double paraboloid(std::span<const double> x, std::span<double> gradient) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double scale = static_cast<double>(i + 1);
    const double off = x[i] - target(i);
    sum += scale * off * off;
    gradient[i] = 2 * scale * off;
  }
  return sum;
}

TEST(LbfgsB, FindsTheMinimumWithAndWithoutBounds) {
  for (const bool nonnegative : {false, true}) {
    LbfgsB minimizer(50, nonnegative);
    std::ranges::fill(minimizer.x(), 0.5);

    const LbfgsB::Result result = minimizer.minimize(paraboloid, 200, {});

    double expected = 0;
    for (std::size_t i = 0; i < 50; ++i) {
      const double best = nonnegative ? std::max(0.0, target(i)) : target(i);
      expected += static_cast<double>(i + 1) * (best - target(i)) * (best - target(i));
      EXPECT_NEAR(minimizer.x()[i], best, 1e-6) << i;
    }
    EXPECT_NEAR(result.value, expected, 1e-9);
    EXPECT_GT(result.first_value, result.value);
  }
}

TEST(LbfgsB, EndsAfterTheEvaluationsThatItMayTakeWithTheBestOfThem) {
  for (const int limit : {1, 2, 5}) {
    LbfgsB minimizer(50, false);
    int calls = 0;
    double least = std::numeric_limits<double>::infinity();

    const LbfgsB::Result result = minimizer.minimize(
        [&](std::span<const double> x, std::span<double> gradient) {
          ++calls;
          const double value = paraboloid(x, gradient);
          least = std::min(least, value);
          return value;
        },
        limit, {});

    EXPECT_EQ(calls, limit);
    EXPECT_EQ(result.evaluations, limit);
    EXPECT_EQ(result.value, least);
    std::vector<double> gradient(50);
    EXPECT_EQ(paraboloid(minimizer.x(), gradient), least);
  }
}

TEST(LbfgsB, EndsWhenToldAndAtAValueThatIsNotFinite) {
  LbfgsB minimizer(50, false);
  EXPECT_EQ(minimizer.minimize(paraboloid, 100, [] { return true; }).evaluations, 1);
  int calls = 0;
  const auto breaks = [&](std::span<const double> x, std::span<double> gradient) {
    return ++calls == 4 ? std::numeric_limits<double>::quiet_NaN() : paraboloid(x, gradient);
  };

  const LbfgsB::Result result = minimizer.minimize(breaks, 100, {});

  EXPECT_EQ(result.evaluations, 4);
  EXPECT_TRUE(std::isfinite(result.value));
  EXPECT_FALSE(result.is_best_last);
}

TEST(LbfgsB, LetsErrorsOfTheFunctionThrough) {
  LbfgsB minimizer(3, false);
  const auto fails = [](std::span<const double>, std::span<double>) -> double { throw std::runtime_error("no"); };

  EXPECT_THROW(minimizer.minimize(fails, 100, {}), std::runtime_error);
}

TEST(LbfgsB, KeepsNothingBetweenCalls) {
  LbfgsB first(50, true);
  LbfgsB second(50, true);
  first.minimize(paraboloid, 7, {});
  std::ranges::copy(first.x(), second.x().begin());

  const double of_first = first.minimize(paraboloid, 7, {}).value;

  EXPECT_EQ(second.minimize(paraboloid, 7, {}).value, of_first);
  EXPECT_THAT(second.x(), testing::ElementsAreArray(first.x()));
}

}  // namespace
}  // namespace blco
