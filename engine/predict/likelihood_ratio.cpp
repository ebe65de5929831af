// One formula per loss, each without the difference of two large numbers; the compiler names a loss that has none.
#include "engine/predict/likelihood_ratio.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/losses.hpp"

namespace blco {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// y - 1 - log(y) for y > 0: 0 at 1, near which it is small beside its parts.
double above_log(double y) { return (y - 1) - (std::abs(y - 1) < 0.5 ? std::log1p(y - 1) : std::log(y)); }

// x log(x / rate) - x + rate.
double poisson_excess(double x, double rate) {
  if (x == 0) return rate;
  const double ratio = rate / x;
  return ratio > 0 ? x * above_log(ratio) : infinite;
}

double softplus(double m) { return std::max(m, 0.0) + std::log1p(std::exp(-std::abs(m))); }

// The least lies at M = x; where x is smaller than that, at the least M there is.
double beta_excess(double exponent, double x, double mean) {
  const double best = std::max(x, loss_epsilon);
  const auto loss = [&](double at) {
    const double power = std::pow(at, exponent - 1);
    return power * (at / exponent - x / (exponent - 1));
  };
  if (exponent == 2) return 0.5 * (mean - best) * (mean + best - 2 * x);
  return loss(mean) - loss(best);
}

double twice_excess(const Loss& loss, double x, double m) {
  const double mean = m + loss_epsilon;
  switch (loss.kind) {
    case LossKind::gaussian:
    case LossKind::huber:
      return with_loss(loss, [&](const auto& of_kind) { return of_kind.value(x, m); });
    case LossKind::poisson:
      // An entry below e is fitted best by m = 0.
      return 2 * (x < loss_epsilon ? m - x * std::log(mean / loss_epsilon) : poisson_excess(x, mean));
    case LossKind::poisson_log:
      return 2 * poisson_excess(x, std::exp(m));
    case LossKind::bernoulli_odds:
      return 2 * (x == 0 ? std::log1p(m) : std::log1p((1 - loss_epsilon) / mean));
    case LossKind::bernoulli_logit:
      return 2 * softplus(x == 0 ? m : -m);
    case LossKind::gamma:
      return 2 * above_log(x / mean);
    case LossKind::rayleigh: {
      const double scaled = x * std::sqrt(std::numbers::pi) / (2 * mean);
      return 2 * above_log(scaled * scaled);
    }
    case LossKind::beta:
      return 2 * beta_excess(loss.parameter, x, mean);
  }
  return infinite;
}

enum class Taken { all, at_least_0, above_0, bits };

Taken values_of(const Loss& loss) {
  switch (loss.kind) {
    case LossKind::gaussian:
    case LossKind::huber:
      return Taken::all;
    case LossKind::poisson:
    case LossKind::poisson_log:
      return Taken::at_least_0;
    case LossKind::bernoulli_odds:
    case LossKind::bernoulli_logit:
      return Taken::bits;
    case LossKind::gamma:
    case LossKind::rayleigh:
      return Taken::above_0;
    case LossKind::beta:
      return loss.parameter < 0 ? Taken::above_0 : Taken::at_least_0;
  }
  return Taken::all;
}

}  // namespace

bool takes_value(const Loss& loss, double x) {
  switch (values_of(loss)) {
    case Taken::all:
      break;
    case Taken::at_least_0:
      return x >= 0;
    case Taken::above_0:
      return x > 0;
    case Taken::bits:
      return x == 0 || x == 1;
  }
  return true;
}

std::string values_taken_by(const Loss& loss) {
  switch (values_of(loss)) {
    case Taken::all:
      break;
    case Taken::at_least_0:
      return "numbers of at least 0";
    case Taken::above_0:
      return "numbers above 0";
    case Taken::bits:
      return "0 and 1";
  }
  return "any number";
}

double likelihood_ratio(const Loss& loss, double x, double m) {
  if (m < 0 && needs_nonnegative_model(loss)) return infinite;
  const double ratio = twice_excess(loss, x, m);
  return std::isnan(ratio) ? infinite : std::max(ratio, 0.0);
}

}  // namespace blco
