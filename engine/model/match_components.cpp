// Cosines between all columns of two models, and the best pairing by them.
#include <algorithm>
#include <blco/model_match.hpp>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "blco/refuse.hpp"
#include "engine/model/assignment.hpp"
#include "engine/model/factor_columns.hpp"
#include "engine/model/model_check.hpp"

namespace blco {
namespace {

using Rows = std::vector<std::optional<std::uint64_t>>;

const Labels* labels_of(const CpdModel& model, std::size_t mode) {
  return mode < model.labels.size() && !model.labels[mode].empty() ? &model.labels[mode] : nullptr;
}

std::string name_of(const CpdModel& model, std::size_t mode) {
  return mode < model.mode_names.size() ? "mode " + model.mode_names[mode] : "mode " + std::to_string(mode);
}

// Per row of the first model, its row in the second.
Rows pair_rows(const CpdModel& first, const CpdModel& second, std::size_t mode) {
  Rows rows(first.shape[mode]);
  const Labels* const own = labels_of(first, mode);
  const Labels* const others = labels_of(second, mode);
  if (own == nullptr || others == nullptr) {
    if (first.shape[mode] != second.shape[mode]) {
      refuse("the models cannot be compared: " + name_of(first, mode) + " has the lengths " +
             std::to_string(first.shape[mode]) + " and " + std::to_string(second.shape[mode]) +
             ", and no labels in both that would tell which rows are the same");
    }
    for (std::uint64_t row = 0; row < rows.size(); ++row) rows[row] = row;
    return rows;
  }
  std::unordered_map<std::string_view, std::uint64_t> row_of;
  for (std::uint64_t row = 0; row < others->size(); ++row) row_of.emplace((*others)[row], row);
  for (std::uint64_t row = 0; row < rows.size(); ++row) {
    if (const auto found = row_of.find((*own)[row]); found != row_of.end()) rows[row] = found->second;
  }
  if (std::ranges::none_of(rows, [](const auto& row) { return row.has_value(); })) {
    refuse("the models cannot be compared: " + name_of(first, mode) + " has no label that is in both");
  }
  return rows;
}

std::vector<double> column_norms(const CpdModel& model, std::size_t mode) {
  const auto rank = static_cast<std::size_t>(model.rank);
  std::vector<double> norms = column_squares(model.factors[mode], rank);
  for (double& norm : norms) norm = std::sqrt(norm);
  return norms;
}

// The products over the modes of |cos| of all pairs of columns; a zero column is like no other.
std::vector<double> congruences(const CpdModel& first, const CpdModel& second) {
  const auto rank = static_cast<std::size_t>(first.rank);
  const auto other_rank = static_cast<std::size_t>(second.rank);
  std::vector<double> products(rank * other_rank, 1.0);
  std::vector<double> dots(rank * other_rank);
  for (std::size_t mode = 0; mode < first.shape.size(); ++mode) {
    std::ranges::fill(dots, 0.0);
    const Rows rows = pair_rows(first, second, mode);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (!rows[row]) continue;
      const double* const a = &first.factors[mode][row * rank];
      const double* const b = &second.factors[mode][static_cast<std::size_t>(*rows[row]) * other_rank];
      for (std::size_t r = 0; r < rank; ++r) {
        for (std::size_t s = 0; s < other_rank; ++s) dots[r * other_rank + s] += a[r] * b[s];
      }
    }
    const std::vector<double> norms = column_norms(first, mode);
    const std::vector<double> other_norms = column_norms(second, mode);
    for (std::size_t i = 0; i < dots.size(); ++i) {
      const double norm = norms[i / other_rank] * other_norms[i % other_rank];
      products[i] *= norm == 0 ? 0 : std::min(1.0, std::abs(dots[i]) / norm);
    }
  }
  return products;
}

// The factor by which weights that differ lower a score.
double likeness(double weight, double other) {
  const double larger = std::max(std::abs(weight), std::abs(other));
  return larger == 0 ? 0 : 1 - std::min(1.0, std::abs(weight - other) / larger);
}

std::vector<double> transposed(const std::vector<double>& matrix, std::size_t columns) {
  const std::size_t rows = matrix.size() / columns;
  std::vector<double> result(matrix.size());
  for (std::size_t i = 0; i < matrix.size(); ++i) result[i % columns * rows + i / columns] = matrix[i];
  return result;
}

}  // namespace

ModelMatch match_components(const CpdModel& first, const CpdModel& second) {
  if (first.shape.size() != second.shape.size()) {
    refuse("the models cannot be compared: one has " + std::to_string(first.shape.size()) + " modes, the other " +
           std::to_string(second.shape.size()));
  }
  for (const CpdModel* model : {&first, &second}) check_sizes(*model, "the models cannot be compared");
  const std::vector<double> congruence = congruences(first, second);
  const auto rank = static_cast<std::size_t>(first.rank);
  const auto other_rank = static_cast<std::size_t>(second.rank);
  std::vector<double> scores(congruence.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    scores[i] = congruence[i] * likeness(first.weights[i / other_rank], second.weights[i % other_rank]);
  }
  ModelMatch match;
  const auto add_pair = [&](std::size_t r, std::size_t s) {
    const std::size_t i = r * other_rank + s;
    match.pairs.push_back({static_cast<int>(r), static_cast<int>(s), scores[i], congruence[i]});
    match.score += scores[i] / static_cast<double>(std::min(rank, other_rank));
  };
  if (rank <= other_rank) {
    const std::vector<std::size_t> assigned = assign_columns(scores, other_rank);
    for (std::size_t r = 0; r < rank; ++r) add_pair(r, assigned[r]);
  } else {
    const std::vector<std::size_t> assigned = assign_columns(transposed(scores, other_rank), rank);
    for (std::size_t s = 0; s < other_rank; ++s) add_pair(assigned[s], s);
  }
  std::ranges::stable_sort(match.pairs, std::greater(), [&](const ComponentMatch& pair) {
    return std::abs(first.weights[static_cast<std::size_t>(pair.component)]);
  });
  return match;
}

}  // namespace blco
