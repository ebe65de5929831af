// Compares shapes and labels of a model with those of a tensor.
#include "engine/fit/initial_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "engine/common/number_text.hpp"
#include "engine/model/model_check.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {
namespace {

double rounded_to_f32(double number) { return static_cast<double>(static_cast<float>(number)); }

bool holds(const std::vector<std::uint64_t>& longer, const std::vector<std::uint64_t>& shape) {
  return longer.size() == shape.size() && std::ranges::equal(shape, longer, std::ranges::less_equal());
}

void check_labels_of_mode(const std::string& mode, const Labels& old, const Labels& now) {
  for (std::uint64_t i = 0; i < old.size(); ++i) {
    const bool is_there = i < now.size();
    if (is_there && old[i] == now[i]) continue;
    refuse("label " + std::to_string(i + 1) + " of mode '" + mode + "' is " + quoted_for_message(old[i]) +
           " in the initial model, but " + (is_there ? quoted_for_message(now[i]) : "absent") +
           " in the tensor, so rows of the model would go to other labels; ingest the tensor again with that "
           "model as " +
           option_name("IngestOptions.columns.labels_from") + ", which keeps the numbers of its labels");
  }
}

}  // namespace

void check_initial_model(const TensorSummary& tensor, const CpdOptions& options) {
  const CpdModel& initial = *options.initial;
  if (initial.rank != options.rank) {
    refuse("the initial model has rank " + std::to_string(initial.rank) + ", but rank " + std::to_string(options.rank) +
           " was asked for; give " + option_name("rank", std::to_string(initial.rank)));
  }
  if (!holds(tensor.shape, initial.shape)) {
    refuse("the initial model has the shape " + shape_text(initial.shape) + ", but the tensor has the shape " +
           shape_text(tensor.shape) + "; modes of the tensor may be longer than those of the model, but not shorter");
  }
  const std::vector<std::string>& names = initial.mode_names;
  if (!names.empty() && names != tensor.mode_names && std::ranges::is_permutation(names, tensor.mode_names)) {
    refuse(
        "the modes of the initial model have another order than those of the tensor; ingest the tensor again with "
        "its modes in the order of the model");
  }
  check_sizes(initial, "cannot start from the initial model");
  const auto check_numbers = [](std::span<const double> numbers, const std::string& name) {
    if (std::ranges::all_of(numbers, [](double x) { return std::isfinite(x); })) return;
    refuse(name + " of the initial model has a number that is not finite");
  };
  check_numbers(initial.weights, "the list of weights");
  for (std::size_t n = 0; n < initial.shape.size(); ++n) {
    check_numbers(initial.factors[n], "factor " + std::to_string(n));
  }
}

void check_initial_labels(const Tensor& tensor, const CpdModel& initial) {
  if (std::ranges::all_of(initial.labels, &Labels::empty) || tensor.summary().label_bytes.empty()) return;
  const std::vector<Labels> labels = tensor.labels();
  for (std::size_t n = 0; n < std::min(labels.size(), initial.labels.size()); ++n) {
    if (!labels[n].empty()) check_labels_of_mode(tensor.summary().mode_names[n], initial.labels[n], labels[n]);
  }
}

std::vector<std::uint64_t> count_new_rows(const TensorSummary& tensor, const CpdModel& initial) {
  std::vector<std::uint64_t> rows;
  for (std::size_t n = 0; n < tensor.shape.size(); ++n) rows.push_back(tensor.shape[n] - initial.shape[n]);
  if (std::ranges::all_of(rows, [](std::uint64_t count) { return count == 0; })) rows.clear();
  return rows;
}

std::vector<std::uint64_t> count_outside_box(const CpdOptions& options) {
  const auto* const als = std::get_if<AlsMethod>(&options.method);
  if (als == nullptr || als->constraints.empty()) return {};
  const CpdModel& initial = *options.initial;
  const auto rank = static_cast<std::size_t>(initial.rank);
  // The weights go into the rows of the first mode, unless there is a mode that is normalised: it carries them.
  const bool weighs_first = std::ranges::none_of(als->constraints, &RowConstraint::normalises);
  std::vector<std::uint64_t> counts;
  for (std::size_t n = 0; n < initial.factors.size(); ++n) {
    const RowConstraint& constraint = als->constraints[n];
    // A model of f32 has its entries at a limit rounded.
    const double lower = std::min(constraint.lower, rounded_to_f32(constraint.lower));
    const double upper = std::max(constraint.upper, rounded_to_f32(constraint.upper));
    std::uint64_t count = 0;
    for (std::size_t i = 0; constraint.set == RowSet::box && i < initial.factors[n].size(); ++i) {
      const double entry = initial.factors[n][i] * (weighs_first && n == 0 ? initial.weights[i % rank] : 1.0);
      if (entry < lower || entry > upper) ++count;
    }
    counts.push_back(count);
  }
  if (std::ranges::all_of(counts, [](std::uint64_t count) { return count == 0; })) counts.clear();
  return counts;
}

}  // namespace blco
