#include "engine/fit/methods/initial_scale.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "engine/fit/methods/factor_steps.hpp"
#include "kernels/losses.hpp"

namespace blco {
namespace {

class InitialScale {
 public:
  explicit InitialScale(const FitContext& context)
      : context_(context),
        shape_(context.tensor.summary().shape),
        order_(static_cast<double>(shape_.size())),
        scales_(static_cast<std::size_t>(context.options.rank), 1.0) {}

  void make_constant(double constant);
  void multiply(double ratio);
  void take_up(std::span<const double> weights);
  void raise_to_zero();  // what a constraint keeps nonnegative

  double sum_of_cells();
  double norm() const;

 private:
  void scale(std::size_t mode, std::span<const double> shifts = {}) {
    context_.workers.factors().scale_columns(static_cast<int>(mode), scales_, shifts);
  }

  const FitContext& context_;
  const std::vector<std::uint64_t>& shape_;
  double order_;
  std::vector<double> scales_;
};

// The first component says the constant, nearly, and the others add noise of a tenth: of R - 1 components of numbers
// uniform in [-s, s), with the mean square (s^2 / 3)^N each.
void InitialScale::make_constant(double constant) {
  constexpr double noise = 0.1;
  constexpr double nearly = 0.05;
  const double others = std::max(1.0, static_cast<double>(scales_.size()) - 1);
  const double spread = std::sqrt(3 * std::pow(noise * noise / others, 1 / order_));
  const double offset = std::pow(std::abs(constant), 1 / order_);
  std::ranges::fill(scales_, 2 * spread);
  std::vector<double> shifts(scales_.size(), -spread);
  scales_[0] = 2 * nearly * offset;
  shifts[0] = (1 - nearly) * offset;
  for (std::size_t n = 0; n < shape_.size(); ++n) {
    const double sign = n == 0 && constant < 0 ? -1 : 1;
    scales_[0] = sign * std::abs(scales_[0]);
    shifts[0] = sign * std::abs(shifts[0]);
    scale(n, shifts);
  }
}

// A ratio of a sum of explicit zeros, or of a model too small for a double, leaves the factors as they are.
void InitialScale::multiply(double ratio) {
  if (!(ratio > 0) || !std::isfinite(ratio)) return;
  std::ranges::fill(scales_, std::pow(ratio, 1 / order_));
  for (std::size_t n = 0; n < shape_.size(); ++n) scale(n);
}

void InitialScale::take_up(std::span<const double> weights) {
  if (std::ranges::all_of(weights, [](double weight) { return weight == 1; })) return;
  const double free = order_ - count_held(context_.options.method);
  bool has_signs = false;
  for (std::size_t n = 0; n < shape_.size(); ++n) {
    if (row_set(context_.options.method, n) == RowSet::held) continue;
    for (std::size_t r = 0; r < scales_.size(); ++r) {
      const double root = std::pow(std::abs(weights[r]), 1 / free);
      scales_[r] = has_signs ? root : std::copysign(root, weights[r]);
    }
    has_signs = true;
    scale(n);
  }
}

void InitialScale::raise_to_zero() {
  for (std::size_t n = 0; n < shape_.size(); ++n) {
    if (row_set(context_.options.method, n) != RowSet::nonnegative) continue;
    context_.workers.factors().raise_to_zero(static_cast<int>(n));
  }
}

double InitialScale::sum_of_cells() {
  std::vector<double> products(scales_.size(), 1.0);
  for (std::size_t n = 0; n < shape_.size(); ++n) {
    const std::vector<double> sums = context_.workers.factors().column_sums(static_cast<int>(n));
    for (std::size_t r = 0; r < sums.size(); ++r) products[r] *= sums[r];
  }
  return std::accumulate(products.begin(), products.end(), 0.0);
}

double InitialScale::norm() const {
  const std::vector<double> products =
      product_of_grams(context_.workers.factors(), static_cast<int>(shape_.size()), context_.options.rank);
  return std::sqrt(std::accumulate(products.begin(), products.end(), 0.0));
}

}  // namespace

void scale_initial_factors(const FitContext& context, const Loss& loss, std::span<const double> weights) {
  const TensorSummary& tensor = context.tensor.summary();
  InitialScale initial(context);
  if (!weights.empty()) {
    initial.take_up(weights);
    return initial.raise_to_zero();
  }
  if (scale_of(loss) == ModelScale::logarithm) return initial.make_constant(context.constant.value);
  const bool has_mean = loss_at_zero(loss) != ZeroLoss::square && context.constant.value > 0;
  const double ratio = has_mean ? context.constant.value * count_cells(tensor) / initial.sum_of_cells()
                                : std::sqrt(context.sum_of_squares()) / initial.norm();
  initial.multiply(ratio);
}

}  // namespace blco
