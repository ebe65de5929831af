#include "engine/fit/initial_scale.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "engine/fit/row_blocks.hpp"

namespace blco {
namespace {

// Replaces each number by (number - shift) * its column's scale.
void shift_and_scale(const FitContext& context, int mode, double shift, std::span<const double> scales) {
  std::vector<double> block(numbers_of_block(context.options.rank));
  const std::uint64_t length = context.tensor.summary().shape[static_cast<std::size_t>(mode)];
  for_each_row_block(length, context.options.rank, [&](std::uint64_t first, std::size_t count) {
    const std::span<double> rows = std::span(block).first(count);
    context.backend.store_factor(mode, first, rows);
    for (std::size_t i = 0; i < count; ++i) rows[i] = (rows[i] - shift) * scales[i % scales.size()];
    context.backend.load_factor(mode, first, rows);
    return true;
  });
}

// sum of x, as the sum of x log(a constant that is far above any m).
double sum_of_values(const FitContext& context) {
  constexpr double above_all = 1e30;
  context.passes.run(PassRequest(EntryFunction{.rule = EntryRule::ratio, .floor = above_all}, 0));
  return context.backend.sum_of_terms() / std::log(above_all);
}

double sum_of_model(const FitContext& context) {
  const auto rank = static_cast<std::size_t>(context.options.rank);
  const std::vector<std::uint64_t>& shape = context.tensor.summary().shape;
  std::vector<double> products(rank, 1.0);
  std::vector<double> block(numbers_of_block(context.options.rank));
  for (std::size_t n = 0; n < shape.size(); ++n) {
    std::vector<double> sums(rank);
    for_each_row_block(shape[n], context.options.rank, [&](std::uint64_t first, std::size_t count) {
      context.backend.store_factor(static_cast<int>(n), first, std::span(block).first(count));
      for (std::size_t i = 0; i < count; ++i) sums[i % rank] += block[i];
      return true;
    });
    for (std::size_t r = 0; r < rank; ++r) products[r] *= sums[r];
  }
  return std::accumulate(products.begin(), products.end(), 0.0);
}

double norm_of_model(const FitContext& context) {
  const auto rank = static_cast<std::size_t>(context.options.rank);
  std::vector<double> products(rank * rank, 1.0);
  for (std::size_t n = 0; n < context.tensor.summary().shape.size(); ++n) {
    const std::span<const double> gram = context.backend.gram(static_cast<int>(n));
    for (std::size_t i = 0; i < products.size(); ++i) products[i] *= gram[i];
  }
  return std::sqrt(std::accumulate(products.begin(), products.end(), 0.0));
}

}  // namespace

void scale_initial_factors(const FitContext& context, const Loss& loss, std::span<const double> weights) {
  const TensorSummary& tensor = context.tensor.summary();
  const double order = static_cast<double>(tensor.shape.size());
  std::vector<double> scales(static_cast<std::size_t>(context.options.rank), 1.0);
  std::vector<double> signs = scales;
  if (weights.empty()) {
    // Where the model is a logarithm, most of it is negative at the end; with positive factors all would have to pass
    // zero, where the gradient vanishes.
    if (loss.kind == LossKind::poisson_log || loss.kind == LossKind::bernoulli_logit) {
      for (std::size_t n = 0; n < tensor.shape.size(); ++n) shift_and_scale(context, static_cast<int>(n), 0.5, scales);
    }
    const double ratio = loss.kind == LossKind::poisson ? sum_of_values(context) / sum_of_model(context)
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
    shift_and_scale(context, static_cast<int>(n), 0, n == 0 && !weights.empty() ? signs : scales);
  }
}

std::uint64_t factor_numbers(const TensorSummary& tensor, int rank) {
  return std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::uint64_t{0}) * static_cast<std::uint64_t>(rank);
}

}  // namespace blco
