// Picks the heaviest components of a model, and the largest entries of their columns.
#include <algorithm>
#include <blco/model_summary.hpp>
#include <cmath>
#include <string>

#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/model/factor_columns.hpp"
#include "engine/model/model_check.hpp"

namespace blco {
namespace {

ColumnSummary summarize_column(const CpdModel& model, std::size_t n, std::size_t r, const SummaryOptions& options) {
  const auto rank = static_cast<std::size_t>(model.rank);
  const std::vector<double>& factor = model.factors[n];
  ColumnSummary column{.largest = model.top(r, n, options.entries)};
  double max = 0;
  for (std::size_t at = r; at < factor.size(); at += rank) max = std::max(max, std::abs(factor[at]));
  std::uint64_t large = 0;
  for (std::size_t at = r; at < factor.size(); at += rank) {
    if (factor[at] != 0 && std::abs(factor[at]) >= options.small * max) ++large;
  }
  column.sparsity = 1 - static_cast<double>(large) / static_cast<double>(model.shape[n]);
  return column;
}

}  // namespace

std::vector<FactorEntry> CpdModel::top(std::size_t component, std::size_t mode, std::size_t count) const {
  check_sizes(*this, "the model has no columns");
  if (mode >= factors.size()) {
    refuse("mode " + std::to_string(mode) + " does not exist: the model has " + std::to_string(factors.size()) +
           " modes, counted from 0");
  }
  const auto columns = static_cast<std::size_t>(rank);
  if (component >= columns) {
    refuse("component " + std::to_string(component) + " does not exist: the model has " + std::to_string(columns) +
           ", counted from 0");
  }
  return largest_of_column(factors[mode], columns, component, count);
}

std::vector<FactorEntry> largest_of_column(const std::vector<double>& matrix, std::size_t columns, std::size_t column,
                                           std::size_t count) {
  std::vector<FactorEntry> entries;
  const auto size = [&](std::size_t row) { return std::abs(matrix[row * columns + column]); };
  for (const std::size_t row : largest_places(matrix.size() / columns, count, size)) {
    if (size(row) != 0) entries.push_back({row, matrix[row * columns + column]});
  }
  return entries;
}

std::vector<double> component_weights(const CpdModel& model) {
  check_sizes(model, "cannot weigh the model");
  const auto rank = static_cast<std::size_t>(model.rank);
  std::vector<double> weights = model.weights;
  for (const std::vector<double>& factor : model.factors) {
    const std::vector<double> squares = column_squares(factor, rank);
    for (std::size_t r = 0; r < rank; ++r) {
      const double norm = std::sqrt(squares[r]);
      // Columns that a fit has normalised have 1 but for rounding, which must not change the order of components.
      if (std::abs(norm - 1) > 1e-5) weights[r] *= norm;
    }
  }
  return weights;
}

std::vector<ComponentSummary> summarize_components(const CpdModel& model, const SummaryOptions& options) {
  if (!(options.small >= 0)) refuse(option_name("small") + " must be at least 0");
  const std::vector<double> weights = component_weights(model);
  double sum = 0;
  for (const double one : weights) sum += std::abs(one);

  std::vector<ComponentSummary> components;
  for (const std::size_t r :
       largest_places(weights.size(), options.components, [&](std::size_t i) { return weights[i]; })) {
    ComponentSummary& component = components.emplace_back();
    component.component = static_cast<int>(r);
    component.weight = weights[r];
    component.share = sum == 0 ? 0 : std::abs(component.weight) / sum;
    for (std::size_t n = 0; n < model.shape.size(); ++n) {
      component.modes.push_back(summarize_column(model, n, r, options));
    }
  }
  return components;
}

}  // namespace blco
