// Likelihood deviances against the definition: twice the loss above its minimum, which the test finds by search.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "engine/predict/model_values.hpp"
#include "kernels/losses.hpp"
#include "tests/engine/dense_loss.hpp"

namespace blco {
namespace {

// The infimum over the m that the loss takes. Each loss falls and then rises, so thirds find the least.
long double least_loss(const Loss& loss, long double x, bool is_nonnegative) {
  long double low = is_nonnegative ? -23.1L : -60;  // exponents of m + e, or m itself
  long double high = is_nonnegative ? 60 : 60;
  const auto at = [&](long double t) {
    return dense_term<long double>(loss, x, is_nonnegative ? std::max(std::exp(t) - 1e-10L, 0.0L) : t);
  };
  for (int step = 0; step < 400; ++step) {
    const long double first = low + (high - low) / 3;
    const long double second = high - (high - low) / 3;
    if (at(first) <= at(second)) {
      high = second;
    } else {
      low = first;
    }
  }
  return at((low + high) / 2);
}

struct LossCase {
  Loss loss;
  bool is_nonnegative;
  bool counts_once;  // the deviance is the loss above its minimum, not twice that
  std::vector<double> values;
};

void PrintTo(const LossCase& of, std::ostream* out) { *out << to_string(of.loss); }

class EveryLoss : public testing::TestWithParam<LossCase> {};

TEST_P(EveryLoss, IsTheLossAboveItsMinimum) {
  const auto& [loss, is_nonnegative, counts_once, values] = GetParam();

  for (const double x : values) {
    const long double least = least_loss(loss, x, is_nonnegative);
    for (const double m : {0.0, 0.003, 0.5, 0.99, 1.0, 1.3, 2.0, 7.5, 19.0}) {
      for (const double signed_m : {m, -m}) {
        if (is_nonnegative && signed_m < 0) continue;
        const auto expected =
            static_cast<double>((counts_once ? 1 : 2) * (dense_term<long double>(loss, x, signed_m) - least));
        EXPECT_NEAR(deviance(loss, x, signed_m), expected, 1e-9 + 1e-11 * std::abs(expected))
            << "x " << x << " m " << signed_m;
      }
    }
  }
}

// f(c x, c m) - f(c x, c best) = c^degree (f(x, m) - f(x, best)) for losses of sizes, if 1e-10 counts in the unit too.
TEST_P(EveryLoss, ScalesWithTheUnit) {
  const auto& [loss, is_nonnegative, counts_once, values] = GetParam();
  if (scale_of(loss) != ModelScale::size) return;
  double degree = 0;  // of gamma and rayleigh
  if (loss.kind == LossKind::gaussian || loss.kind == LossKind::huber) degree = 2;
  if (loss.kind == LossKind::poisson) degree = 1;
  if (loss.kind == LossKind::beta) degree = loss.parameter;
  for (const int exponent : {-200, -40, -3, 34, 100}) {
    Loss scaled = loss;
    if (loss.kind == LossKind::huber) scaled.parameter = std::ldexp(loss.parameter, exponent);
    for (const double x : values) {
      for (const double m : {0.0, 0.003, 1.0, 7.5}) {
        EXPECT_DOUBLE_EQ(deviance(scaled, std::ldexp(x, exponent), std::ldexp(m, exponent), exponent),
                         deviance(loss, x, m) * std::exp2(degree * exponent))
            << "x " << x << " m " << m << " unit 2^" << exponent;
      }
    }
  }
}

TEST_P(EveryLoss, IsInfiniteWhereTheLossTakesNoSuchModel) {
  const auto& [loss, is_nonnegative, counts_once, values] = GetParam();
  for (const double x : values) {
    EXPECT_EQ(std::isinf(deviance(loss, x, -0.5)), is_nonnegative);
    EXPECT_TRUE(std::isinf(deviance(loss, x, std::numeric_limits<double>::quiet_NaN())));
  }
}

INSTANTIATE_TEST_SUITE_P(Deviance, EveryLoss,
                         testing::Values(LossCase{{LossKind::gaussian}, false, true, {-2.5, 0, 1, 7.5}},
                                         LossCase{{LossKind::huber, 0.75}, false, true, {-2.5, 0, 1, 7.5}},
                                         LossCase{{LossKind::poisson}, true, false, {0, 1, 3, 20}},
                                         LossCase{{LossKind::poisson_log}, false, false, {0, 1, 3, 20}},
                                         LossCase{{LossKind::bernoulli_odds}, true, false, {0, 1}},
                                         LossCase{{LossKind::bernoulli_logit}, false, false, {0, 1}},
                                         LossCase{{LossKind::gamma}, true, false, {0.01, 1, 8}},
                                         LossCase{{LossKind::rayleigh}, true, false, {0.01, 1, 8}},
                                         LossCase{{LossKind::beta, 2}, true, false, {0, 0.25, 1, 8}},
                                         LossCase{{LossKind::beta, 0.5}, true, false, {0, 0.25, 1, 8}},
                                         LossCase{{LossKind::beta, 3.5}, true, false, {0, 0.25, 1, 8}},
                                         LossCase{{LossKind::beta, -1}, true, false, {0.25, 1, 8}}));

// Figures by hand: 2 (3 log(3/2) - 3 + 2); 2 log 2; a squared residual.
TEST(Deviance, HasTheseValues) {
  EXPECT_NEAR(deviance({LossKind::poisson}, 3, 2), 0.4327906486489862, 1e-9);
  EXPECT_NEAR(deviance({LossKind::poisson}, 0, 2), 4, 0);
  EXPECT_NEAR(deviance({LossKind::bernoulli_odds}, 1, 1), 1.3862943611198906, 1e-9);
  EXPECT_EQ(deviance({LossKind::gaussian}, 3, 1), 4);
  EXPECT_TRUE(std::isnan(deviance({LossKind::gamma}, 0, 1)));
}

// As a difference of losses, of which each is about 10^8, it would have no right digit.
TEST(Deviance, IsExactWhereTheModelIsNearALargeCount) {
  EXPECT_NEAR(deviance({LossKind::poisson}, 1e7, 1e7 + 1), 1e-7, 1e-13);
}

TEST(Deviance, StaysFiniteFarFromTheEntry) {
  EXPECT_NEAR(deviance({LossKind::gamma}, 1e-20, 1), 2 * (20 * std::log(10.0) - 1), 1e-6);
  EXPECT_NEAR(deviance({LossKind::bernoulli_logit}, 0, 1000), 2000, 1e-9);
}

TEST(Deviance, KnowsWhichValuesALossTakes) {
  const auto takes = [](LossKind kind, double parameter, std::vector<double> values) {
    return std::ranges::all_of(values, [&](double x) { return takes_value({kind, parameter}, x); });
  };
  EXPECT_TRUE(takes(LossKind::gaussian, 0, {-1, 0, 1}));
  EXPECT_TRUE(takes(LossKind::poisson, 0, {0, 1.5}));
  EXPECT_FALSE(takes(LossKind::poisson, 0, {-0.5}));
  EXPECT_TRUE(takes(LossKind::bernoulli_odds, 0, {0, 1}));
  EXPECT_FALSE(takes(LossKind::bernoulli_logit, 0, {0.5}));
  EXPECT_FALSE(takes(LossKind::gamma, 0, {0}));
  EXPECT_TRUE(takes(LossKind::beta, 0.5, {0}));
  EXPECT_FALSE(takes(LossKind::beta, -1, {0}));
}

}  // namespace
}  // namespace blco
