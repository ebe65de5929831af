// Picks the heaviest components of a model, and the largest entries of their columns.
#include <algorithm>
#include <blco/model_summary.hpp>
#include <cmath>
#include <numeric>
#include <string>

#include "blco/refuse.hpp"
#include "engine/model/model_check.hpp"

namespace blco {
namespace {

// Sorts the first `count` of `items` to the front.
template <class Item, class Before>
void keep_first(std::vector<Item>& items, std::size_t count, Before before) {
  const auto kept = static_cast<std::ptrdiff_t>(std::min(count, items.size()));
  std::partial_sort(items.begin(), items.begin() + kept, items.end(), before);
  items.resize(static_cast<std::size_t>(kept));
}

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
  for (std::size_t row = 0; row < matrix.size() / columns; ++row) {
    const double number = matrix[row * columns + column];
    if (number != 0) entries.push_back({row, number});
  }
  keep_first(entries, count, [](const FactorEntry& a, const FactorEntry& b) {
    const double size_a = std::abs(a.value);
    const double size_b = std::abs(b.value);
    return size_a != size_b ? size_a > size_b : a.row < b.row;
  });
  return entries;
}

std::vector<double> component_weights(const CpdModel& model) {
  const auto rank = static_cast<std::size_t>(model.rank);
  std::vector<double> weights = model.weights;
  for (std::size_t n = 0; n < model.constraints.size(); ++n) {
    if (model.constraints[n].normalises()) continue;
    std::vector<double> squares(rank);
    for (std::size_t at = 0; at < model.factors[n].size(); ++at) {
      squares[at % rank] += model.factors[n][at] * model.factors[n][at];
    }
    for (std::size_t r = 0; r < rank; ++r) weights[r] *= std::sqrt(squares[r]);
  }
  return weights;
}

std::vector<ComponentSummary> summarize_components(const CpdModel& model, const SummaryOptions& options) {
  std::vector<int> numbers(model.weights.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  const std::vector<double> weights = component_weights(model);
  const auto weight = [&](int r) { return weights[static_cast<std::size_t>(r)]; };
  keep_first(numbers, options.components,
             [&](int a, int b) { return weight(a) != weight(b) ? weight(a) > weight(b) : a < b; });
  double sum = 0;
  for (const double one : weights) sum += std::abs(one);

  std::vector<ComponentSummary> components;
  for (const int r : numbers) {
    ComponentSummary& component = components.emplace_back();
    component.component = r;
    component.weight = weight(r);
    component.share = sum == 0 ? 0 : std::abs(component.weight) / sum;
    for (std::size_t n = 0; n < model.shape.size(); ++n) {
      component.modes.push_back(summarize_column(model, n, static_cast<std::size_t>(r), options));
    }
  }
  return components;
}

}  // namespace blco
