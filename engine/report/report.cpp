// The page about a CP model.
#include <algorithm>
#include <blco/model_summary.hpp>
#include <blco/predict.hpp>
#include <blco/report.hpp>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "blco/refuse.hpp"
#include "engine/common/check_callable.hpp"
#include "engine/common/check_outputs.hpp"
#include "engine/common/number_text.hpp"
#include "engine/common/thread_pool.hpp"
#include "engine/model/factor_columns.hpp"
#include "engine/model/model_check.hpp"
#include "engine/report/outliers.hpp"
#include "engine/report/report_page.hpp"

namespace blco {
namespace {

// What the tensor says of a mode.
struct ModeSums {
  std::vector<double> shares = {};   // of each index in the magnitudes of the tensor
  std::vector<double> errors = {};   // of each row, see RowErrors; empty: unknown
  std::vector<double> columns = {};  // of the model, each the sum of its magnitudes
};

void check_tensor(const CpdModel& model, const Tensor& tensor) {
  if (tensor.shape() != model.shape) {
    refuse("the tensor has the shape " + shape_text(tensor.shape()) + ", but the model " + shape_text(model.shape) +
           "; give the tensor that was fitted");
  }
  const std::vector<Labels> labels = tensor.labels();
  for (std::size_t n = 0; n < labels.size() && n < model.labels.size(); ++n) {
    if (!labels[n].empty() && !model.labels[n].empty() && labels[n] != model.labels[n]) {
      refuse("the labels of mode " + std::to_string(n) +
             " are others in the tensor than in the model; give the tensor that was fitted");
    }
  }
}

// Shares and errors, by one pass.
std::vector<ModeSums> read_tensor(const CpdModel& model, const ReportOptions& options,
                                  const ProgressCallback& progress) {
  check_tensor(model, *options.tensor);
  std::vector<ModeSums> sums;
  const auto rank = static_cast<std::size_t>(model.rank);
  for (std::size_t n = 0; n < model.shape.size(); ++n) {
    ModeSums& added = sums.emplace_back(std::vector<double>(model.shape[n]));
    added.columns.resize(rank);
    for (std::size_t at = 0; at < model.factors[n].size(); ++at)
      added.columns[at % rank] += std::abs(model.factors[n][at]);
  }
  double total = 0;
  RowErrors errors(model);
  const auto visit = [&](const PredictionBlock& block) {
    for (std::size_t i = 0; i < block.values.size(); ++i) {
      const std::uint64_t* const cell = block.coordinates.data() + i * sums.size();
      const double size = std::abs(block.values[i]);
      total += size;
      for (std::size_t n = 0; n < sums.size(); ++n) sums[n].shares[cell[n]] += size;
      errors.add(cell, block.values[i], block.model[i]);
    }
  };
  predict(model, *options.tensor, visit,
          {.loss = Loss(), .memory_bytes = options.memory_bytes, .threads = options.threads}, progress);
  for (ModeSums& of_mode : sums) {
    for (double& share : of_mode.shares) share /= total;
  }
  if (!RowErrors::are_defined(model)) return sums;
  ThreadPool pool(options.threads);
  std::vector<std::vector<double>> found = std::move(errors).finish(pool);
  const auto is_finite = [](const std::vector<double>& of_mode) {
    return std::ranges::all_of(of_mode, [](double error) { return std::isfinite(error); });
  };
  if (!std::ranges::all_of(found, is_finite)) return sums;
  for (std::size_t n = 0; n < sums.size(); ++n) sums[n].errors = std::move(found[n]);
  return sums;
}

Json or_null(const std::optional<double>& number) { return number ? Json(*number) : Json(); }

// A row per start, with a match for each component of the model.
Json starts_of(std::span<const StartReport> starts, bool is_fit) {
  Json rows = Json::array();
  const StartReport* last_best = nullptr;
  for (const StartReport& start : starts) last_best = start.is_best ? &start : last_best;
  for (const StartReport& start : starts) {
    rows.push_back({{"seed", std::to_string(start.seed)},
                    {"value", is_fit ? start.fit : start.objective},
                    {"best", &start == last_best},
                    {"match", or_null(start.match)},
                    {"components", start.component_matches}});
  }
  return rows;
}

// The rows of a mode by leverage and residual: the dots of a plot 160 wide and 80 high, those that lie together once,
// and by name those farthest from the corner of both.
Json outliers_of(const PageMode& mode, const std::vector<double>& leverage, const std::vector<double>& errors) {
  static constexpr std::size_t width = 160;
  static constexpr std::size_t height = 80;
  const double most_leverage = std::ranges::max(leverage);
  const double most_error = std::ranges::max(errors);
  const double whole = std::accumulate(errors.begin(), errors.end(), 0.0);
  const auto part = [](double number, double of) { return of > 0 ? number / of : 0.0; };
  const auto across = [&](std::size_t i) { return part(leverage[i], most_leverage); };
  const auto up = [&](std::size_t i) { return std::sqrt(part(errors[i], most_error)); };
  std::vector<bool> is_taken((width + 1) * (height + 1));
  Json dots = Json::array();
  for (std::size_t i = 0; i < leverage.size(); ++i) {
    const auto x = static_cast<std::size_t>(std::lround(across(i) * width));
    const auto y = static_cast<std::size_t>(std::lround(up(i) * height));
    if (is_taken[y * (width + 1) + x]) continue;
    is_taken[y * (width + 1) + x] = true;
    dots.push_back(Json::array({x, y}));
  }
  Json top = Json::array();
  const auto distance = [&](std::size_t i) { return std::hypot(across(i), up(i)); };
  for (const std::size_t i : largest_places(leverage.size(), named_peaks, distance)) {
    top.push_back(Json::array({mode.name_of(i), leverage[i], part(errors[i], whole)}));
  }
  return {{"leverage", most_leverage}, {"residual", part(most_error, whole)}, {"dots", dots}, {"top", top}};
}

class Report {
 public:
  Report(const CpdModel& model, const ReportOptions& options, const ProgressCallback& progress)
      : model_(&model), options_(&options), components_(summarize()) {
    modes_ = page_modes(model.shape, model.mode_names, model.labels, options.index_base);
    for (std::size_t n = 0; n < modes_.size(); ++n) modes_[n].set_scale(model.factors[n]);
    if (options.tensor != nullptr) sums_ = read_tensor(model, options, progress);
  }

  void write(const TextSink& sink) const {
    write_page(sink, head(), modes_, components_.size(), [&](std::size_t i) { return part(components_[i]); });
  }

 private:
  std::vector<ComponentSummary> summarize() const {
    check_sizes(*model_, "cannot report on the model");
    const SummaryOptions all{.components = model_->weights.size(), .entries = options_->entries};
    std::vector<ComponentSummary> components = summarize_components(*model_, all);
    std::ranges::stable_sort(components, std::ranges::greater(), &ComponentSummary::share);
    components.resize(std::min(components.size(), options_->components));
    return components;
  }

  Json head() const {
    const bool is_fit = !model_->fit_history.empty();
    Json head{{"kind", "cp"},
              {"title", options_->title.empty() ? "CP model" : shortened(options_->title)},
              {"method", model_->method},
              {"loss", to_string(model_->loss)},
              {"rank", model_->rank},
              {"history_of", is_fit ? "fit" : "objective"},
              {"history", is_fit ? model_->fit_history : model_->objective_history},
              {"explained", or_null(model_->explained)},
              {"stopped_by", to_string(model_->stop_reason)},
              {"nonzeros", model_->tensor_nnz},
              {"ridge", model_->ridge},
              {"found_ridge", or_null(model_->found_ridge)},
              {"precision", to_string(model_->precision)},
              {"seed", std::to_string(model_->seed)},
              {"has_tensor", options_->tensor != nullptr},
              {"starts", starts_of(options_->starts, is_fit)}};
    for (const RowConstraint& constraint : model_->constraints) {
      head["constraints"].push_back(constraint == RowConstraint{} ? "" : to_string(constraint));
    }
    if (const std::optional<Cancellation> found = find_cancellation(*model_)) {
      head["cancellation"] = {{"first", found->first}, {"second", found->second}, {"excess", found->excess}};
    }
    if (!sums_.empty() && !sums_.front().errors.empty()) head["outliers"] = outliers();
    return head;
  }

  Json outliers() const {
    ThreadPool pool(options_->threads);
    Json modes = Json::array();
    for (std::size_t n = 0; n < modes_.size(); ++n) {
      modes.push_back(outliers_of(modes_[n], leverages(model_->factors[n], model_->rank, pool), sums_[n].errors));
    }
    return modes;
  }

  Json part(const ComponentSummary& component) const {
    const auto rank = static_cast<std::size_t>(model_->rank);
    const auto number = static_cast<std::size_t>(component.component);
    Json columns = Json::array();
    for (std::size_t n = 0; n < modes_.size(); ++n) {
      const std::vector<FactorEntry>& largest = component.modes[n].largest;
      Json column = modes_[n].column(model_->factors[n], rank, number, largest);
      if (!sums_.empty()) add_lifts(column["top"], n, number, largest);
      columns.push_back(std::move(column));
    }
    return {{"component", number}, {"weight", component.weight}, {"share", component.share}, {"columns", columns}};
  }

  // To each row a third number, null where the tensor has nothing.
  void add_lifts(Json& rows, std::size_t n, std::size_t component, const std::vector<FactorEntry>& largest) const {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double share = sums_[n].shares[largest[i].row];
      rows[i].push_back(share > 0 ? Json(std::abs(largest[i].value) / sums_[n].columns[component] / share) : Json());
    }
  }

  const CpdModel* model_;
  const ReportOptions* options_;
  std::vector<ComponentSummary> components_;
  std::vector<PageMode> modes_;
  std::vector<ModeSums> sums_;  // per mode; empty without a tensor
};

}  // namespace

void write_report(const CpdModel& model, const TextSink& sink, const ReportOptions& options,
                  const ProgressCallback& progress) {
  check_callable(sink, "sink");
  Report(model, options, progress).write(sink);
}

void write_report(const CpdModel& model, const std::filesystem::path& output, const ReportOptions& options,
                  const ProgressCallback& progress) {
  if (options.tensor != nullptr) refuse_inputs_as_outputs({options.tensor->summary().file}, {output});
  write_page_file(output, [&](const TextSink& sink) { write_report(model, sink, options, progress); });
}

}  // namespace blco
