// The losses as functions of an entry x and the model's value m; host, device and reference share them.
//
// A loss is a struct: value, derivative by m, the least m, and whether zeros have a closed form. To add one, write its
// struct here, name it in with_loss, and in blco/loss.{hpp,cpp}. T is a number with these operators, log, exp, pow and
// abs.
#pragma once

#include <algorithm>
#include <cmath>

#include "blco/host_device.hpp"
#include "blco/loss.hpp"

namespace blco {

inline constexpr double loss_epsilon = 1e-10;  // as in pyttb and the Tensor Toolbox

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

struct Gaussian {
  static constexpr bool nonnegative = false;
  template <class T>
  BLCO_HOST_DEVICE T value(T x, T m) const {
    return square(x - m);
  }
  template <class T>
  BLCO_HOST_DEVICE T derivative(T x, T m) const {
    return T(2) * (m - x);
  }
};

struct Poisson {
  static constexpr bool nonnegative = true;
  template <class T>
  BLCO_HOST_DEVICE T value(T x, T m) const {
    using std::log;
    return m - x * log(m + T(loss_epsilon));
  }
  template <class T>
  BLCO_HOST_DEVICE T derivative(T x, T m) const {
    return T(1) - x / (m + T(loss_epsilon));
  }
};

struct PoissonLog {
  static constexpr bool nonnegative = false;
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
};

struct BernoulliOdds {
  static constexpr bool nonnegative = true;
  template <class T>
  BLCO_HOST_DEVICE T value(T x, T m) const {
    using std::log;
    return log(m + T(1)) - x * log(m + T(loss_epsilon));
  }
  template <class T>
  BLCO_HOST_DEVICE T derivative(T x, T m) const {
    return T(1) / (m + T(1)) - x / (m + T(loss_epsilon));
  }
};

struct BernoulliLogit {
  static constexpr bool nonnegative = false;
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
};

struct Gamma {
  static constexpr bool nonnegative = true;
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
};

struct Rayleigh {
  static constexpr bool nonnegative = true;
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
};

struct Huber {
  static constexpr bool nonnegative = false;
  double threshold = 1;
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
};

struct Beta {
  static constexpr bool nonnegative = true;
  double exponent = 2;
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
      return visit(losses::Huber{loss.parameter});
    case LossKind::beta:
      return visit(losses::Beta{loss.parameter});
    case LossKind::gaussian:
      break;
  }
  return visit(losses::Gaussian{});
}

// True if the loss is defined for m >= 0 only, so that factors must not be negative.
inline bool needs_nonnegative_model(const Loss& loss) {
  return with_loss(loss, [](const auto& of_kind) { return of_kind.nonnegative; });
}

}  // namespace blco
