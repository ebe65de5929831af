#include "engine/fit/methods/initial_scale.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "engine/fit/methods/factor_steps.hpp"
#include "engine/fit/methods/row_blocks.hpp"
#include "kernels/losses.hpp"

namespace blco {
namespace {

// sum of x, as the sum of x log(a constant that is far above any m).
double sum_of_values(const FitContext& context) {
  constexpr double above_all = 1e30;
  context.passes.run(PassRequest(EntryFunction{.rule = EntryRule::ratio, .floor = above_all}, 0));
  return context.backend.sum_of_terms() / std::log(above_all);
}

double sum_of_model(const FitContext& context, std::span<double> block) {
  const std::vector<std::uint64_t>& shape = context.tensor.summary().shape;
  std::vector<double> products(static_cast<std::size_t>(context.options.rank), 1.0);
  for (std::size_t n = 0; n < shape.size(); ++n) {
    const std::vector<double> sums =
        column_sums(context.backend, static_cast<int>(n), shape[n], context.options.rank, block);
    for (std::size_t r = 0; r < sums.size(); ++r) products[r] *= sums[r];
  }
  return std::accumulate(products.begin(), products.end(), 0.0);
}

double norm_of_model(const FitContext& context) {
  const auto order = static_cast<int>(context.tensor.summary().shape.size());
  const std::vector<double> products = product_of_grams(context.backend, order, context.options.rank);
  return std::sqrt(std::accumulate(products.begin(), products.end(), 0.0));
}

}  // namespace

void scale_initial_factors(const FitContext& context, const Loss& loss, std::span<const double> weights) {
  const TensorSummary& tensor = context.tensor.summary();
  const double order = static_cast<double>(tensor.shape.size());
  std::vector<double> scales(static_cast<std::size_t>(context.options.rank), 1.0);
  std::vector<double> signs = scales;
  std::vector<double> block(numbers_of_block(context.options.rank));
  const auto scale = [&](std::size_t mode, std::span<const double> by, double shift) {
    scale_columns(context.backend, static_cast<int>(mode), tensor.shape[mode], by, block, shift);
  };
  if (weights.empty()) {
    // Where the model is a logarithm, most of it is negative at the end; with positive factors all would have to pass
    // zero, where the gradient vanishes.
    if (scale_of(loss) == ModelScale::logarithm) {
      for (std::size_t n = 0; n < tensor.shape.size(); ++n) scale(n, scales, 0.5);
    }
    const double ratio = loss_at_zero(loss) == ZeroLoss::model
                             ? sum_of_values(context) / sum_of_model(context, block)
                             : std::sqrt(tensor.sum_of_squares) / norm_of_model(context);
    // A sum of explicit zeros, or a model too small for a double, leaves the factors as they are.
    if (!(ratio > 0) || !std::isfinite(ratio)) return;
    std::ranges::fill(scales, std::pow(ratio, 1 / order));
  } else {
    if (std::ranges::all_of(weights, [](double weight) { return weight == 1; })) return;
    for (std::size_t r = 0; r < scales.size(); ++r) {
      scales[r] = std::pow(std::abs(weights[r]), 1 / order);
      signs[r] = std::copysign(scales[r], weights[r]);
    }
  }
  for (std::size_t n = 0; n < tensor.shape.size(); ++n) {
    scale(n, n == 0 && !weights.empty() ? signs : scales, 0);
  }
}

}  // namespace blco
