#include "engine/predict/likelihood_ratio.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/losses.hpp"

namespace blco {

double likelihood_ratio(const Loss& loss, double x, double m) {
  if (!takes_value(loss, x)) return std::numeric_limits<double>::quiet_NaN();
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (m < 0 && needs_nonnegative_model(loss)) return infinite;
  const double ratio = with_loss(loss, [&](const auto& of_kind) { return of_kind.excess(x, m); });
  return std::isnan(ratio) ? infinite : std::max(ratio, 0.0);
}

}  // namespace blco
