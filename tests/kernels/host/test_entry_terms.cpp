// Rules in vector code against the same rules in plain numbers, and functions without branches at their limits.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/host/entry_terms.hpp"
#include "kernels/host/lane_number.hpp"
#include "tests/every_loss.hpp"

namespace blco::testing {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

TEST(EntryTerms, AreThoseOfPlainNumbers) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  std::vector<EntryFunction> functions{{EntryRule::ratio, {}, 0.5, 1e-3}, {EntryRule::model, {}, 2.0}};
  for (const Loss& loss : losses_by_name(0.75)) {
    for (const EntryRule rule : {EntryRule::given, EntryRule::beyond_zero, EntryRule::zero}) {
      functions.push_back({rule, loss, 1.5});
    }
  }
  functions.push_back({EntryRule::given, {LossKind::beta, -1.5}, 1.0});
  for (const EntryFunction& function : functions) {
    for (const std::size_t count : {1U, 7U, 8U, 63U, 64U}) {
      std::vector<double> values(count);
      std::vector<double> models(count);
      for (double& value : values) value = std::floor(10 * unit(random));
      for (double& model : models) model = std::pow(10.0, 5 * unit(random) - 4);
      std::vector<double> weights(count);

      const double sum = entry_terms(function, values.data(), models.data(), count, weights.data());

      double expected_sum = 0;
      double size = 0;
      for (std::size_t i = 0; i < count; ++i) {
        double term = 0;
        double weight = 0;
        with_rule(function, [&](const auto& rule) { rule(values[i], models[i], term, weight); });
        expected_sum += function.scale * term;
        size += std::abs(function.scale * term);
        // Differences as of x and m, or f(x) and f(0), leave some digits only.
        EXPECT_NEAR(weights[i], function.scale * weight, 1e-13 * (10 + std::abs(function.scale * weight)))
            << to_string(function.loss) << ", rule " << static_cast<int>(function.rule) << ", " << values[i] << ", "
            << models[i];
      }
      EXPECT_NEAR(sum, expected_sum, 1e-13 * (10 + size)) << to_string(function.loss);
    }
  }
}

TEST(EntryTerms, TakeOnesWhereThereAreNoValues) {
  const EntryFunction gaussian{EntryRule::given, {LossKind::gaussian}};
  const std::vector<double> models{1.5, 0.25};
  std::vector<double> weights(2);

  EXPECT_EQ(entry_terms(gaussian, nullptr, models.data(), 2, weights.data()), 0.25 + 0.5625);
  EXPECT_EQ(weights, (std::vector<double>{1.0, -1.5}));
}

TEST(LaneNumber, HasLogarithmAndExponentialToTheLastDigits) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> exponent(-700, 700);
  for (int i = 0; i < 20'000; ++i) {
    const double x = exponent(random);
    const long double of_x = std::exp(static_cast<long double>(x));
    const auto y = static_cast<double>(of_x);

    EXPECT_NEAR(exp(LaneNumber(x)).value / y, 1, 1e-15) << x;
    EXPECT_NEAR(log(LaneNumber(y)).value, static_cast<double>(std::log(static_cast<long double>(y))),
                1e-15 * std::max(1.0, std::abs(x)))
        << y;
  }
}

TEST(LaneNumber, KeepsTheLimitsOfItsFunctions) {
  EXPECT_EQ(log(LaneNumber(1)).value, 0);
  EXPECT_EQ(log(LaneNumber(0)).value, -infinite);
  EXPECT_EQ(log(LaneNumber(infinite)).value, infinite);
  EXPECT_TRUE(std::isnan(log(LaneNumber(-1)).value));
  EXPECT_TRUE(std::isnan(log(LaneNumber(std::nan(""))).value));
  EXPECT_EQ(exp(LaneNumber(0)).value, 1);
  EXPECT_EQ(exp(LaneNumber(-infinite)).value, 0);
  EXPECT_EQ(exp(LaneNumber(-2000)).value, 0);
  EXPECT_EQ(exp(LaneNumber(710)).value, infinite);
  EXPECT_EQ(exp(LaneNumber(infinite)).value, infinite);
  EXPECT_TRUE(std::isnan(exp(LaneNumber(std::nan(""))).value));
  EXPECT_EQ(pow(LaneNumber(0), LaneNumber(0.5)).value, 0);
  EXPECT_NEAR(pow(LaneNumber(4), LaneNumber(-1.5)).value, 0.125, 1e-16);
  EXPECT_EQ(abs(LaneNumber(-3)).value, 3);
}

}  // namespace
}  // namespace blco::testing
