// The losses as functions of an entry x and the model's value m; host, device and reference share them.
//
// A loss is a struct: value and derivative by m, with T a number that has these operators, log, exp, pow and abs; what
// both are beyond those of a zero, f(x, m) - f(0, m), in a closed form where there is one, because m may be so much
// larger than what it says of x that the difference rounds that away; the traits below; and the excess, twice the
// difference between the loss at m and at the best m for the entry, without that of two large numbers. To add one,
// write its struct here, name it in with_loss, and in blco/loss.{hpp,cpp}.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "blco/host_device.hpp"
#include "blco/loss.hpp"

namespace blco {

inline constexpr double loss_epsilon = 1e-10;  // as in pyttb and the Tensor Toolbox

// Trait `entries`: the entries that a loss takes.
enum class EntryRange { all, at_least_0, above_0, bits };

// Trait `scale`: what m says of an entry: its size, the odds that it is 1, or the logarithm of one of these.
enum class ModelScale { size, odds, logarithm };

// Trait `at_zero`: the loss of a cell that is zero where its sum over all cells has a closed form: m or m^2.
enum class ZeroLoss { other, model, square };

// Trait `unit`: how a loss whose m is a size changes with the unit of x, m and e, which its epsilon is:
// f(c x, c m) = c^degree f(x, m) + log(c) (of_cell + of_size c x).
struct LossUnit {
  double degree = 0;
  double of_cell = 0;
  double of_size = 0;
};

// Trait `nonnegative`: the loss is defined for m >= 0 only, so that factors must not be negative.

namespace losses {

template <class T>
BLCO_HOST_DEVICE T square(T x) {
  return x * x;
}

template <class T>
BLCO_HOST_DEVICE T lesser(T a, T b) {
  return a < b ? a : b;
}

template <class T>
BLCO_HOST_DEVICE T greater(T a, T b) {
  return a > b ? a : b;
}

// y - 1 - log(y) for y > 0: 0 at 1, near which it is small beside its parts.
inline double above_log(double y) { return (y - 1) - (std::abs(y - 1) < 0.5 ? std::log1p(y - 1) : std::log(y)); }

// x log(x / rate) - x + rate.
inline double poisson_excess(double x, double rate) {
  if (x == 0) return rate;
  const double ratio = rate / x;
  return ratio > 0 ? x * above_log(ratio) : std::numeric_limits<double>::infinity();
}

inline double softplus(double m) { return std::max(m, 0.0) + std::log1p(std::exp(-std::abs(m))); }

// What most losses have.
struct Traits {
  static constexpr EntryRange entries = EntryRange::all;
  static constexpr bool nonnegative = false;
  static constexpr ModelScale scale = ModelScale::size;
  static constexpr ZeroLoss at_zero = ZeroLoss::other;
  static constexpr LossUnit unit = {};
};

struct Gaussian : Traits {
  static constexpr ZeroLoss at_zero = ZeroLoss::square;
  static constexpr LossUnit unit = {.degree = 2};
  template <class T>
  BLCO_HOST_DEVICE T value(T x, T m) const {
    return square(x - m);
  }
  template <class T>
  BLCO_HOST_DEVICE T derivative(T x, T m) const {
    return T(2) * (m - x);
  }
  template <class T>
  BLCO_HOST_DEVICE T beyond_zero(T x, T m) const {
    return x * (x - T(2) * m);
  }
  template <class T>
  BLCO_HOST_DEVICE T slope_beyond_zero(T x, T) const {
    return T(-2) * x;
  }
  double excess(double x, double m) const { return value(x, m); }
};

struct Poisson : Traits {
  static constexpr EntryRange entries = EntryRange::at_least_0;
  static constexpr bool nonnegative = true;
  static constexpr ZeroLoss at_zero = ZeroLoss::model;
  static constexpr LossUnit unit = {.degree = 1, .of_size = -1};
  template <class T>
  BLCO_HOST_DEVICE T value(T x, T m) const {
    using std::log;
    return m - x * log(m + T(loss_epsilon));
  }
  template <class T>
  BLCO_HOST_DEVICE T derivative(T x, T m) const {
    return T(1) - x / (m + T(loss_epsilon));
  }
  template <class T>
  BLCO_HOST_DEVICE T beyond_zero(T x, T m) const {
    using std::log;
    return T(0) - x * log(m + T(loss_epsilon));
  }
  template <class T>
  BLCO_HOST_DEVICE T slope_beyond_zero(T x, T m) const {
    return T(0) - x / (m + T(loss_epsilon));
  }
  // An entry below e is fitted best by m = 0.
  double excess(double x, double m) const {
    const double mean = m + loss_epsilon;
    return 2 * (x < loss_epsilon ? m - x * std::log(mean / loss_epsilon) : poisson_excess(x, mean));
  }
};

struct PoissonLog : Traits {
  static constexpr EntryRange entries = EntryRange::at_least_0;
  static constexpr ModelScale scale = ModelScale::logarithm;
  template <class T>
  BLCO_HOST_DEVICE T value(T x, T m) const {
    using std::exp;
    return exp(m) - x * m;
  }
  template <class T>
  BLCO_HOST_DEVICE T derivative(T x, T m) const {
    using std::exp;
    return exp(m) - x;
  }
  template <class T>
  BLCO_HOST_DEVICE T beyond_zero(T x, T m) const {
    return T(0) - x * m;
  }
  template <class T>
  BLCO_HOST_DEVICE T slope_beyond_zero(T x, T) const {
    return T(0) - x;
  }
  double excess(double x, double m) const { return 2 * poisson_excess(x, std::exp(m)); }
};

struct BernoulliOdds : Traits {
  static constexpr EntryRange entries = EntryRange::bits;
  static constexpr bool nonnegative = true;
  static constexpr ModelScale scale = ModelScale::odds;
  template <class T>
  BLCO_HOST_DEVICE T value(T x, T m) const {
    using std::log;
    return log(m + T(1)) - x * log(m + T(loss_epsilon));
  }
  template <class T>
  BLCO_HOST_DEVICE T derivative(T x, T m) const {
    return T(1) / (m + T(1)) - x / (m + T(loss_epsilon));
  }
  template <class T>
  BLCO_HOST_DEVICE T beyond_zero(T x, T m) const {
    using std::log;
    return T(0) - x * log(m + T(loss_epsilon));
  }
  template <class T>
  BLCO_HOST_DEVICE T slope_beyond_zero(T x, T m) const {
    return T(0) - x / (m + T(loss_epsilon));
  }
  double excess(double x, double m) const {
    return 2 * (x == 0 ? std::log1p(m) : std::log1p((1 - loss_epsilon) / (m + loss_epsilon)));
  }
};

struct BernoulliLogit : Traits {
  static constexpr EntryRange entries = EntryRange::bits;
  static constexpr ModelScale scale = ModelScale::logarithm;
  // log(1 + exp(m)) as max(m, 0) + log(1 + exp(-|m|)), which does not overflow.
  template <class T>
  BLCO_HOST_DEVICE T value(T x, T m) const {
    using std::abs;
    using std::exp;
    using std::log;
    const T magnitude = abs(m);
    return (m + magnitude) * T(0.5) + log(T(1) + exp(T(0) - magnitude)) - x * m;
  }
  template <class T>
  BLCO_HOST_DEVICE T derivative(T x, T m) const {
    using std::exp;
    return T(1) / (T(1) + exp(T(0) - m)) - x;
  }
  template <class T>
  BLCO_HOST_DEVICE T beyond_zero(T x, T m) const {
    return T(0) - x * m;
  }
  template <class T>
  BLCO_HOST_DEVICE T slope_beyond_zero(T x, T) const {
    return T(0) - x;
  }
  double excess(double x, double m) const { return 2 * softplus(x == 0 ? m : -m); }
};

struct Gamma : Traits {
  static constexpr EntryRange entries = EntryRange::above_0;
  static constexpr bool nonnegative = true;
  static constexpr LossUnit unit = {.of_cell = 1};
  template <class T>
  BLCO_HOST_DEVICE T value(T x, T m) const {
    using std::log;
    return x / (m + T(loss_epsilon)) + log(m + T(loss_epsilon));
  }
  template <class T>
  BLCO_HOST_DEVICE T derivative(T x, T m) const {
    const T inverse = T(1) / (m + T(loss_epsilon));
    return inverse - x * square(inverse);
  }
  template <class T>
  BLCO_HOST_DEVICE T beyond_zero(T x, T m) const {
    return x / (m + T(loss_epsilon));
  }
  template <class T>
  BLCO_HOST_DEVICE T slope_beyond_zero(T x, T m) const {
    const T inverse = T(1) / (m + T(loss_epsilon));
    return T(0) - x * square(inverse);
  }
  double excess(double x, double m) const { return 2 * above_log(x / (m + loss_epsilon)); }
};

struct Rayleigh : Traits {
  static constexpr EntryRange entries = EntryRange::above_0;
  static constexpr bool nonnegative = true;
  static constexpr LossUnit unit = {.of_cell = 2};
  static constexpr double half_pi = 1.57079632679489661923;
  template <class T>
  BLCO_HOST_DEVICE T value(T x, T m) const {
    using std::log;
    return T(2) * log(m + T(loss_epsilon)) + T(half_pi / 2) * square(x / (m + T(loss_epsilon)));
  }
  template <class T>
  BLCO_HOST_DEVICE T derivative(T x, T m) const {
    const T inverse = T(1) / (m + T(loss_epsilon));
    return T(2) * inverse - T(half_pi) * square(x * inverse) * inverse;
  }
  template <class T>
  BLCO_HOST_DEVICE T beyond_zero(T x, T m) const {
    return T(half_pi / 2) * square(x / (m + T(loss_epsilon)));
  }
  template <class T>
  BLCO_HOST_DEVICE T slope_beyond_zero(T x, T m) const {
    const T inverse = T(1) / (m + T(loss_epsilon));
    return T(-half_pi) * square(x * inverse) * inverse;
  }
  double excess(double x, double m) const {
    const double scaled = x / (m + loss_epsilon);
    return 2 * above_log(half_pi / 2 * scaled * scaled);
  }
};

struct Huber : Traits {
  static constexpr LossUnit unit = {.degree = 2};
  double threshold = 1;  // counts in the unit too
  template <class T>
  BLCO_HOST_DEVICE T value(T x, T m) const {
    using std::abs;
    const T far = abs(x - m);
    const T near = lesser(far, T(threshold));
    return near * (T(2) * far - near);
  }
  template <class T>
  BLCO_HOST_DEVICE T derivative(T x, T m) const {
    return T(2) * greater(lesser(m - x, T(threshold)), T(-threshold));
  }
  // No closed form; where both are squares, the difference rounds no more than m^2, which x (x - 2 m) is beside.
  template <class T>
  BLCO_HOST_DEVICE T beyond_zero(T x, T m) const {
    return value(x, m) - value(T(0), m);
  }
  template <class T>
  BLCO_HOST_DEVICE T slope_beyond_zero(T x, T m) const {
    return derivative(x, m) - derivative(T(0), m);
  }
  double excess(double x, double m) const { return value(x, m); }
};

struct Beta : Traits {
  static constexpr bool nonnegative = true;
  double exponent = 2;
  EntryRange entries = exponent < 0 ? EntryRange::above_0 : EntryRange::at_least_0;
  LossUnit unit = {.degree = exponent};
  template <class T>
  BLCO_HOST_DEVICE T value(T x, T m) const {
    using std::pow;
    const T base = m + T(loss_epsilon);
    return pow(base, T(exponent)) * T(1 / exponent) - x * pow(base, T(exponent - 1)) * T(1 / (exponent - 1));
  }
  template <class T>
  BLCO_HOST_DEVICE T derivative(T x, T m) const {
    using std::pow;
    const T base = m + T(loss_epsilon);
    return pow(base, T(exponent - 1)) - x * pow(base, T(exponent - 2));
  }
  template <class T>
  BLCO_HOST_DEVICE T beyond_zero(T x, T m) const {
    using std::pow;
    return x * pow(m + T(loss_epsilon), T(exponent - 1)) * T(-1 / (exponent - 1));
  }
  template <class T>
  BLCO_HOST_DEVICE T slope_beyond_zero(T x, T m) const {
    using std::pow;
    return T(0) - x * pow(m + T(loss_epsilon), T(exponent - 2));
  }
  // The least lies at m + e = x; where x is smaller than e, at the least m there is.
  double excess(double x, double m) const {
    const double mean = m + loss_epsilon;
    const double best = std::max(x, loss_epsilon);
    if (exponent == 2) return (mean - best) * (mean + best - 2 * x);
    const auto loss = [&](double at) { return std::pow(at, exponent - 1) * (at / exponent - x / (exponent - 1)); };
    return 2 * (loss(mean) - loss(best));
  }
};

}  // namespace losses

// Calls visit(the loss's struct).
BLCO_DEVICE_VISITS
template <class Visit>
BLCO_HOST_DEVICE auto with_loss(const Loss& loss, const Visit& visit) {
  switch (loss.kind) {
    case LossKind::poisson:
      return visit(losses::Poisson{});
    case LossKind::poisson_log:
      return visit(losses::PoissonLog{});
    case LossKind::bernoulli_odds:
      return visit(losses::BernoulliOdds{});
    case LossKind::bernoulli_logit:
      return visit(losses::BernoulliLogit{});
    case LossKind::gamma:
      return visit(losses::Gamma{});
    case LossKind::rayleigh:
      return visit(losses::Rayleigh{});
    case LossKind::huber:
      return visit(losses::Huber{{}, loss.parameter});
    case LossKind::beta:
      return visit(losses::Beta{{}, loss.parameter});
    case LossKind::gaussian:
      break;
  }
  return visit(losses::Gaussian{});
}

inline bool needs_nonnegative_model(const Loss& loss) {
  return with_loss(loss, [](const auto& of_kind) { return of_kind.nonnegative; });
}

inline EntryRange entries_of(const Loss& loss) {
  return with_loss(loss, [](const auto& of_kind) { return of_kind.entries; });
}

inline ModelScale scale_of(const Loss& loss) {
  return with_loss(loss, [](const auto& of_kind) { return of_kind.scale; });
}

inline LossUnit unit_of(const Loss& loss) {
  return with_loss(loss, [](const auto& of_kind) { return of_kind.unit; });
}

// Of values with this mean square, the exponent of the first power of 2 that is at least its root: a unit in which they
// are near 1. 0 for losses whose model is no size.
inline int exponent_of_unit(const Loss& loss, double mean_square) {
  if (scale_of(loss) != ModelScale::size || !(mean_square > 0) || !std::isfinite(mean_square)) return 0;
  int exponent = 0;
  const double fraction = std::frexp(mean_square, &exponent);
  const int of_square = fraction > 0.5 ? exponent : exponent - 1;
  return (of_square + (of_square > 0 ? 1 : 0)) / 2;
}

// The loss of values divided by 2^exponent, where it has a threshold for them.
inline Loss in_unit(Loss loss, int exponent) {
  if (loss.kind == LossKind::huber) loss.parameter = std::ldexp(loss.parameter, -exponent);
  return loss;
}

inline ZeroLoss loss_at_zero(const Loss& loss) {
  return with_loss(loss, [](const auto& of_kind) { return of_kind.at_zero; });
}

inline bool takes_value(const Loss& loss, double x) {
  switch (entries_of(loss)) {
    case EntryRange::all:
      break;
    case EntryRange::at_least_0:
      return x >= 0;
    case EntryRange::above_0:
      return x > 0;
    case EntryRange::bits:
      return x == 0 || x == 1;
  }
  return true;
}

// Absent cells are zeros, so an entry of 0 is as good as none, whatever the loss.
inline bool takes_entry(const Loss& loss, double x) { return x == 0 || takes_value(loss, x); }

// For messages.
inline const char* values_taken_by(const Loss& loss) {
  switch (entries_of(loss)) {
    case EntryRange::all:
      break;
    case EntryRange::at_least_0:
      return "numbers of at least 0";
    case EntryRange::above_0:
      return "numbers above 0";
    case EntryRange::bits:
      return "0 and 1";
  }
  return "any number";
}

}  // namespace blco
