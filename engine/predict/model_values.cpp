// Products of rows in pieces of a few columns, which stay in registers.
#include "engine/predict/model_values.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "engine/model/model_check.hpp"
#include "kernels/losses.hpp"

namespace blco {
namespace {

constexpr std::size_t columns_at_once = 16;

}  // namespace

ModelValues::ModelValues(const CpdModel& model) : model_(&model) { check_sizes(model, "cannot predict by the model"); }

ModelValues::ModelValues(const TuckerModel& model) : tucker_(&model) {
  check_sizes(model, "cannot predict by the model");
}

double ModelValues::at(std::span<const std::uint64_t> point) const {
  if (model_ == nullptr) return tucker_->value(point);
  const auto rank = static_cast<std::size_t>(model_->rank);
  // Columns that are `columns_at_once` apart are added up first.
  std::array<double, columns_at_once> sums{};
  for (std::size_t first = 0; first < rank; first += columns_at_once) {
    const std::size_t columns = std::min(columns_at_once, rank - first);
    std::array<double, columns_at_once> products{};
    for (std::size_t r = 0; r < columns; ++r) products[r] = model_->weights[first + r];
    for (std::size_t n = 0; n < point.size(); ++n) {
      const double* const row = model_->factors[n].data() + static_cast<std::size_t>(point[n]) * rank + first;
      for (std::size_t r = 0; r < columns; ++r) products[r] *= row[r];
    }
    for (std::size_t r = 0; r < columns_at_once; ++r) sums[r] += products[r];
  }
  for (std::size_t half = columns_at_once / 2; half > 0; half /= 2) {
    for (std::size_t r = 0; r < half; ++r) sums[r] += sums[r + half];
  }
  return sums[0];
}

double deviance(const Loss& loss, double x, double m, int value_exponent) {
  if (!takes_value(loss, x)) return std::numeric_limits<double>::quiet_NaN();
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (m < 0 && needs_nonnegative_model(loss)) return infinite;
  const auto in_units = [&](double size) { return std::ldexp(size, -value_exponent); };
  const double excess = with_loss(in_unit(loss, value_exponent),
                                  [&](const auto& of_kind) { return of_kind.excess(in_units(x), in_units(m)); });
  if (!(excess > 0)) return std::isnan(excess) ? infinite : 0;
  return excess * std::exp2(unit_of(loss).degree * value_exponent);
}

}  // namespace blco
