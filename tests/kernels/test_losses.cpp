// Losses: figures worked out by hand, and derivatives against differences.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/losses.hpp"
#include "tests/every_loss.hpp"

namespace blco::testing {
namespace {

double value_of(const Loss& loss, double x, double m) {
  return with_loss(loss, [&](const auto& of_kind) { return of_kind.value(x, m); });
}

double derivative_of(const Loss& loss, double x, double m) {
  return with_loss(loss, [&](const auto& of_kind) { return of_kind.derivative(x, m); });
}

const std::vector<Loss>& every_kind_of_loss() {
  static const std::vector<Loss> losses = [] {
    std::vector<Loss> all = losses_by_name(0.5);
    all.push_back({LossKind::beta, 3});
    return all;
  }();
  return losses;
}

TEST(Losses, HaveTheValuesOfTheirDefinitions) {
  const double e = std::exp(1.0);
  const double exact = 1e-9;  // the definitions add 1e-10 to m

  EXPECT_NEAR(value_of({LossKind::gaussian}, 3, 1), 4, exact);
  EXPECT_NEAR(value_of({LossKind::poisson}, 2, e), e - 2, exact);
  EXPECT_NEAR(value_of({LossKind::poisson_log}, 2, 1), e - 2, exact);
  EXPECT_NEAR(value_of({LossKind::bernoulli_odds}, 1, e - 1), 1 - std::log(e - 1), exact);
  EXPECT_NEAR(value_of({LossKind::bernoulli_logit}, 1, 0), std::log(2.0), exact);
  EXPECT_NEAR(value_of({LossKind::gamma}, 2 * e, e), 3, exact);
  EXPECT_NEAR(value_of({LossKind::rayleigh}, 2, 1), 3.14159265358979323846, exact);
  EXPECT_NEAR(value_of({LossKind::huber, 0.5}, 1, 1.25), 0.0625, exact);
  EXPECT_NEAR(value_of({LossKind::huber, 0.5}, 3, 1), 1.75, exact);
  EXPECT_NEAR(value_of({LossKind::beta, 0.5}, 3, 4), 7, exact);
  EXPECT_NEAR(value_of({LossKind::beta, 3}, 2, 2), 8.0 / 3 - 4, exact);
}

TEST(Losses, HaveTheDerivativesOfTheirValues) {
  constexpr double step = 1e-5;
  for (const Loss& loss : every_kind_of_loss()) {
    for (const double x : {0.0, 1.0, 3.0}) {
      for (const double m : {0.2, 0.9, 2.7}) {
        const double difference = (value_of(loss, x, m + step) - value_of(loss, x, m - step)) / (2 * step);

        EXPECT_NEAR(derivative_of(loss, x, m), difference, 1e-6 * (1 + std::abs(difference)))
            << to_string(loss) << " at x = " << x << ", m = " << m;
      }
    }
  }
}

double beyond_zero(const Loss& loss, double x, double m) {
  return with_loss(loss, [&](const auto& of_kind) { return of_kind.beyond_zero(x, m); });
}

double slope_beyond_zero(const Loss& loss, double x, double m) {
  return with_loss(loss, [&](const auto& of_kind) { return of_kind.slope_beyond_zero(x, m); });
}

TEST(Losses, BeyondThatOfAZeroAreTheDifference) {
  for (const Loss& loss : every_kind_of_loss()) {
    for (const double x : {0.0, 1.0, 3.0}) {
      for (const double m : {0.0, 0.2, 0.9, 2.7}) {
        const std::string where = to_string(loss) + " at x = " + std::to_string(x) + ", m = " + std::to_string(m);
        const double value = value_of(loss, x, m) - value_of(loss, 0, m);
        const double slope = derivative_of(loss, x, m) - derivative_of(loss, 0, m);

        EXPECT_NEAR(beyond_zero(loss, x, m), value, 1e-12 * (1 + std::abs(value))) << where;
        EXPECT_NEAR(slope_beyond_zero(loss, x, m), slope, 1e-12 * (1 + std::abs(slope))) << where;
      }
    }
  }
}

// Of sparse tensors m is a multiple of what it says of a cell, up to one over the share of the cells that are listed.
TEST(Losses, BeyondThatOfAZeroAreNotRoundedAwayByALargeModel) {
  const double m = 1e30;
  const double log_m = 69.07755278982137;  // 30 log 10

  EXPECT_DOUBLE_EQ(beyond_zero({LossKind::poisson}, 5, m), -5 * log_m);
  EXPECT_DOUBLE_EQ(slope_beyond_zero({LossKind::poisson}, 5, m), -5e-30);
  EXPECT_DOUBLE_EQ(beyond_zero({LossKind::bernoulli_odds}, 1, m), -log_m);
  EXPECT_DOUBLE_EQ(slope_beyond_zero({LossKind::bernoulli_odds}, 1, m), -1e-30);
  EXPECT_DOUBLE_EQ(beyond_zero({LossKind::gaussian}, 5, m), -1e31);
  EXPECT_DOUBLE_EQ(slope_beyond_zero({LossKind::gaussian}, 5, m), -10);
  EXPECT_DOUBLE_EQ(beyond_zero({LossKind::gamma}, 5, m), 5e-30);
  EXPECT_DOUBLE_EQ(slope_beyond_zero({LossKind::gamma}, 5, m), -5e-60);
  EXPECT_DOUBLE_EQ(beyond_zero({LossKind::rayleigh}, 2, m), 3.14159265358979323846e-60);
  EXPECT_DOUBLE_EQ(beyond_zero({LossKind::beta, 0.5}, 5, m), 1e-14);
  EXPECT_DOUBLE_EQ(beyond_zero({LossKind::poisson_log}, 5, 600), -3000) << "beside exp(600)";
}

TEST(Losses, ChangeWithTheUnitAsTheySay) {
  const double c = 4;
  for (const Loss& loss : every_kind_of_loss()) {
    if (scale_of(loss) != ModelScale::size) continue;
    const LossUnit unit = unit_of(loss);
    for (const double x : {1.0, 3.0}) {
      for (const double m : {0.2, 2.7}) {
        const double in_fours = std::pow(c, unit.degree) * value_of(in_unit(loss, 2), x, m) +
                                std::log(c) * (unit.of_cell + unit.of_size * c * x);

        // But for e, which counts in ones on the left.
        EXPECT_NEAR(value_of(loss, c * x, c * m), in_fours, 1e-8 * (1 + std::abs(in_fours)))
            << to_string(loss) << " of " << x << " by " << m;
      }
    }
  }
}

TEST(Losses, HaveAUnitInWhichValuesAreNearOne) {
  for (const int exponent : {-500, -3, 0, 1, 40}) {
    const double square = std::ldexp(1.0, 2 * exponent);
    EXPECT_EQ(exponent_of_unit({LossKind::gamma}, square), exponent);
    EXPECT_EQ(exponent_of_unit({LossKind::gamma}, 0.26 * square), exponent);
    EXPECT_EQ(exponent_of_unit({LossKind::gamma}, 0.25 * square), exponent - 1);
  }
  EXPECT_EQ(exponent_of_unit({LossKind::gaussian}, 0), 0);
  EXPECT_EQ(exponent_of_unit({LossKind::poisson_log}, 1e9), 0);
  EXPECT_EQ(exponent_of_unit({LossKind::bernoulli_odds}, 1e-9), 0);
}

TEST(Losses, AreFiniteWhereTheModelIsZero) {
  for (const Loss& loss : every_kind_of_loss()) {
    EXPECT_TRUE(std::isfinite(value_of(loss, 1, 0))) << to_string(loss);
    EXPECT_TRUE(std::isfinite(derivative_of(loss, 1, 0))) << to_string(loss);
  }
}

TEST(Losses, OfLogitsDoNotOverflow) {
  EXPECT_DOUBLE_EQ(value_of({LossKind::bernoulli_logit}, 0, 1000), 1000);
  EXPECT_DOUBLE_EQ(value_of({LossKind::bernoulli_logit}, 1, 1000), 0);
  EXPECT_DOUBLE_EQ(value_of({LossKind::bernoulli_logit}, 1, -1000), 1000);
  EXPECT_DOUBLE_EQ(derivative_of({LossKind::bernoulli_logit}, 0, -1000), 0);
  EXPECT_DOUBLE_EQ(derivative_of({LossKind::bernoulli_logit}, 1, 1000), 0);
}

TEST(Losses, SayWhereTheModelMustNotBeNegative) {
  EXPECT_TRUE(needs_nonnegative_model({LossKind::poisson}));
  EXPECT_TRUE(needs_nonnegative_model({LossKind::beta, 2}));
  EXPECT_FALSE(needs_nonnegative_model({LossKind::gaussian}));
  EXPECT_FALSE(needs_nonnegative_model({LossKind::huber, 1}));
  EXPECT_FALSE(needs_nonnegative_model({LossKind::poisson_log}));
}

TEST(Losses, SayWhatTheirModelStandsFor) {
  for (const Loss& loss : every_kind_of_loss()) {
    const bool is_logarithm = loss.kind == LossKind::poisson_log || loss.kind == LossKind::bernoulli_logit;
    const bool is_odds = loss.kind == LossKind::bernoulli_odds;
    EXPECT_EQ(scale_of(loss), is_logarithm ? ModelScale::logarithm : is_odds ? ModelScale::odds : ModelScale::size);
  }
}

TEST(Losses, OfAZeroAreWhatTheySay) {
  int closed = 0;
  for (const Loss& loss : every_kind_of_loss()) {
    const ZeroLoss at_zero = loss_at_zero(loss);
    if (at_zero == ZeroLoss::other) continue;
    ++closed;
    for (const double m : {0.0, 0.3, 2.5}) {
      EXPECT_NEAR(value_of(loss, 0, m), at_zero == ZeroLoss::model ? m : m * m, 1e-12) << to_string(loss);
    }
  }
  EXPECT_EQ(closed, 2);
}

TEST(Losses, TakeZerosAsEntriesWhateverTheirValues) {
  EXPECT_TRUE(takes_entry({LossKind::gamma}, 0));
  EXPECT_TRUE(takes_entry({LossKind::gamma}, 2));
  EXPECT_FALSE(takes_entry({LossKind::gamma}, -2));
  EXPECT_FALSE(takes_entry({LossKind::bernoulli_odds}, 2));
}

}  // namespace
}  // namespace blco::testing
