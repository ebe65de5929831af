// Converts a model between memory and its file.
#include <algorithm>
#include <array>
#include <blco/model.hpp>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>

#include "blco/refuse.hpp"
#include "engine/common/number_text.hpp"
#include "engine/model/model_check.hpp"

namespace blco {
namespace {

// In the order of the enumeration.
constexpr std::array<const char*, 3> precisions = {"f64", "f32", "mixed"};

// `otherwise`: for a word that is none of the names.
template <class Enum>
Enum parse_name(std::span<const char* const> names, std::string_view word, Enum otherwise) {
  const auto name = std::ranges::find(names, word, [](const char* text) { return std::string_view(text); });
  return name == names.end() ? otherwise : static_cast<Enum>(name - names.begin());
}

// What to_string writes.
RowConstraint parse_constraint(std::string_view text) {
  RowConstraint constraint;
  const auto number_at = [&](std::size_t at) {
    double number = 0;
    std::from_chars(text.data() + at, text.data() + text.size(), number);
    return number;
  };
  if (text.starts_with("nonnegative")) constraint.set = RowSet::nonnegative;
  if (text.starts_with("simplex")) constraint.set = RowSet::simplex;
  if (text == "held") constraint.set = RowSet::held;
  if (text.starts_with("box=")) {
    constraint.set = RowSet::box;
    constraint.lower = number_at(4);
    constraint.upper = number_at(text.find(':') + 1);
  }
  if (const std::size_t l1 = text.find("l1="); l1 != std::string_view::npos) constraint.l1 = number_at(l1 + 3);
  return constraint;
}

// What a model and its file have alike, without factors and labels.
template <class To, class From>
To with_header(const From& from) {
  To to;
  to.shape = from.shape;
  to.weights = from.weights;
  to.method = from.method;
  to.fit_history = from.fit_history;
  to.objective_history = from.objective_history;
  to.explained = from.explained;
  to.mode_names = from.mode_names;
  to.reading = from.reading;
  to.seed = from.seed;
  to.ridge = from.ridge;
  to.found_ridge = from.found_ridge;
  to.tensor_nnz = from.tensor_nnz;
  to.tensor_sum_of_squares = from.tensor_sum_of_squares;
  return to;
}

}  // namespace

std::vector<MatrixView> CpdModel::matrices() const {
  check_sizes(*this, "the model has no matrices");
  std::vector<MatrixView> views;
  const auto columns = static_cast<std::size_t>(rank);
  for (std::size_t n = 0; n < factors.size(); ++n)
    views.push_back({factors[n].data(), factors[n].size() / columns, columns});
  return views;
}

StopReason parse_stop_reason(std::string_view text) {
  return parse_name(detail::stop_reason_names, text, StopReason::sweeps);
}

void check_cell(const std::vector<std::uint64_t>& shape, std::span<const std::uint64_t> cell) {
  if (cell.size() != shape.size()) {
    refuse("the cell has " + std::to_string(cell.size()) + " indices, but the model has " +
           std::to_string(shape.size()) + " modes");
  }
  for (std::size_t n = 0; n < cell.size(); ++n) {
    if (cell[n] >= shape[n]) {
      refuse("index " + std::to_string(cell[n]) + " of mode " + std::to_string(n) + " does not exist: the mode has " +
             std::to_string(shape[n]) + ", counted from 0");
    }
  }
}

double CpdModel::value(std::span<const std::uint64_t> cell) const {
  check_sizes(*this, "the model has no values");
  check_cell(shape, cell);
  std::vector<double> terms = weights;
  for (std::size_t n = 0; n < cell.size(); ++n) {
    const double* const row = factors[n].data() + static_cast<std::size_t>(cell[n]) * terms.size();
    for (std::size_t r = 0; r < terms.size(); ++r) terms[r] *= row[r];
  }
  return std::accumulate(terms.begin(), terms.end(), 0.0);
}

std::string to_string(const RowConstraint& constraint) {
  std::string text;
  if (constraint.set == RowSet::nonnegative) text = "nonnegative";
  if (constraint.set == RowSet::simplex) text = "simplex";
  if (constraint.is_held()) text = "held";
  if (constraint.set == RowSet::box) text = "box=" + in_full(constraint.lower) + ":" + in_full(constraint.upper);
  if (constraint.l1 > 0) text += (text.empty() ? "l1=" : " l1=") + in_full(constraint.l1);
  return text.empty() ? "none" : text;
}

const char* to_string(Precision precision) { return precisions.at(static_cast<std::size_t>(precision)); }

std::vector<std::string> to_strings(const std::vector<RowConstraint>& constraints) {
  std::vector<std::string> words;
  bool any = false;
  for (const RowConstraint& constraint : constraints) {
    words.push_back(to_string(constraint));
    any = any || constraint != RowConstraint{};
  }
  if (!any) words.clear();
  return words;
}

ModelFile describe_model(const CpdModel& model) {
  auto file = with_header<ModelFile>(model);
  file.rank = static_cast<std::uint64_t>(model.rank);
  file.loss = to_string(model.loss);
  file.constraints = to_strings(model.constraints);
  file.labels = model.labels;
  file.fit = model.fit();
  file.sweeps = model.sweeps();
  file.precision = to_string(model.precision);
  file.stop_reason = to_string(model.stop_reason);
  return file;
}

void save(const CpdModel& model, const std::filesystem::path& path, const OutputClaims* claims) {
  check_sizes(model, "cannot save the model");
  write_model_file(path, describe_model(model), model.factors, claims == nullptr ? nullptr : claims->find(path));
}

CpdModel without_factors(const ModelFile& file) {
  auto model = with_header<CpdModel>(file);
  model.rank = static_cast<int>(file.rank);
  model.loss = parse_loss(file.loss).value_or(Loss{});
  for (const std::string& constraint : file.constraints) model.constraints.push_back(parse_constraint(constraint));
  model.precision = parse_name(precisions, file.precision, Precision::f64);
  model.stop_reason = parse_stop_reason(file.stop_reason);
  return model;
}

CpdModel load_model(const std::filesystem::path& path) {
  ModelFile file = read_model_file(path);
  CpdModel model = without_factors(file);
  model.factors = std::move(file.factors);
  model.labels = std::move(file.labels);
  return model;
}

bool is_model(const std::filesystem::path& path) noexcept { return is_model_file(path); }

std::string size_fault(const CpdModel& model) {
  const std::size_t order = model.shape.size();
  if (model.rank < 1 || model.weights.size() != static_cast<std::size_t>(model.rank))
    return "it does not have one weight per component";
  if (order == 0 || model.factors.size() != order) return "it does not have one factor per mode";
  if (!model.mode_names.empty() && model.mode_names.size() != order) return "it does not have one name per mode";
  if (!model.labels.empty() && model.labels.size() != order) return "it does not have one list of labels per mode";
  if (!model.constraints.empty() && model.constraints.size() != order)
    return "it does not have one constraint per mode";
  const auto rank = static_cast<std::uint64_t>(model.rank);
  for (std::size_t n = 0; n < order; ++n) {
    if (model.factors[n].size() % rank != 0 || model.factors[n].size() / rank != model.shape[n])
      return "the size of factor " + std::to_string(n) + " is not the length of its mode times the rank";
    if (!model.labels.empty() && !model.labels[n].empty() && model.labels[n].size() != model.shape[n])
      return "a mode does not have one label per index";
  }
  return {};
}

void check_sizes(const CpdModel& model, const std::string& failure) {
  if (const std::string fault = size_fault(model); !fault.empty()) refuse(failure + ": " + fault);
}

}  // namespace blco
