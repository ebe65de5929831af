// Rules in vector code against the same rules in plain numbers, and their functions at their limits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/host/entry_terms.hpp"
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

// Term and weight of one nonzero, whose value is 0 unless given.
struct Made {
  double term;
  double weight;
};
Made apply(const EntryFunction& function, double model, double value = 0) {
  Made made{};
  made.term = entry_terms(function, &value, &model, 1, &made.weight);
  return made;
}

TEST(EntryTerms, HaveLogarithmAndExponentialToTheLastDigits) {
  const EntryFunction exponential{EntryRule::given, {LossKind::poisson_log}};  // of an entry 0: exp(m)
  const EntryFunction logarithm{EntryRule::ratio, {}, 1.0, 0.0};               // of an entry 1: log(m)
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> exponent(-700, 700);
  for (int i = 0; i < 20'000; ++i) {
    const double x = exponent(random);
    const auto y = static_cast<double>(std::exp(static_cast<long double>(x)));

    EXPECT_NEAR(apply(exponential, x).term / y, 1, 1e-15) << x;
    EXPECT_NEAR(apply(logarithm, y, 1).term, static_cast<double>(std::log(static_cast<long double>(y))),
                1e-15 * std::max(1.0, std::abs(x)))
        << y;
  }
}

TEST(EntryTerms, KeepTheLimitsOfTheirFunctions) {
  const EntryFunction ratio{EntryRule::ratio, {}, 1.0, 0.0};                   // of an entry 1: log(m)
  const EntryFunction gamma{EntryRule::given, {LossKind::gamma}};              // of an entry 0: log(m + epsilon)
  const EntryFunction exponential{EntryRule::given, {LossKind::poisson_log}};  // of an entry 0: exp(m)
  const EntryFunction power{EntryRule::given, {LossKind::beta, 1.5}};          // of an entry 0: (m + epsilon)^1.5 / 1.5
  const double not_a_number = std::nan("");

  EXPECT_EQ(apply(ratio, 1, 1).term, 0);
  EXPECT_EQ(apply(ratio, 0, 1).term, -infinite);
  EXPECT_EQ(apply(ratio, infinite, 1).term, infinite);
  EXPECT_TRUE(std::isnan(apply(gamma, -1).term));
  EXPECT_TRUE(std::isnan(apply(gamma, not_a_number).term));
  EXPECT_EQ(apply(exponential, 0).term, 1);
  EXPECT_EQ(apply(exponential, -2000).term, 0);
  EXPECT_EQ(apply(exponential, -infinite).weight, 0);
  EXPECT_EQ(apply(exponential, 710).term, infinite);
  EXPECT_EQ(apply(exponential, 1e300).term, infinite);
  EXPECT_EQ(apply(exponential, infinite).weight, infinite);
  EXPECT_TRUE(std::isnan(apply(exponential, not_a_number).term));
  EXPECT_EQ(apply(power, -loss_epsilon).term, 0);
  EXPECT_NEAR(apply(power, 4).term, 8 / 1.5, 1e-9);
  EXPECT_EQ(apply({EntryRule::given, {LossKind::huber, 10}}, -3).term, 9);
}

}  // namespace
}  // namespace blco::testing
