// Writes a CP model as one page of HTML.
#include <algorithm>
#include <blco/model_summary.hpp>
#include <blco/predict.hpp>
#include <blco/report.hpp>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "blco/option_name.hpp"
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

struct ModePlot {
  double low = 0;  // of all columns, and 0
  double high = 0;
  std::vector<double> sums;         // of each column's magnitudes
  std::vector<double> shares = {};  // of each index in the magnitudes of the tensor; empty: unknown
  std::vector<double> errors = {};  // of each row, see RowErrors; empty: unknown
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
void read_tensor(std::vector<ModePlot>& plots, const CpdModel& model, const ReportOptions& options,
                 const ProgressCallback& progress) {
  check_tensor(model, *options.tensor);
  for (std::size_t n = 0; n < plots.size(); ++n) plots[n].shares.resize(static_cast<std::size_t>(model.shape[n]));
  double total = 0;
  RowErrors errors(model);
  const auto visit = [&](const PredictionBlock& block) {
    for (std::size_t i = 0; i < block.values.size(); ++i) {
      const std::uint64_t* const cell = block.coordinates.data() + i * plots.size();
      const double size = std::abs(block.values[i]);
      total += size;
      for (std::size_t n = 0; n < plots.size(); ++n) plots[n].shares[cell[n]] += size;
      errors.add(cell, block.values[i], block.model[i]);
    }
  };
  predict(model, *options.tensor, visit,
          {.loss = Loss(), .memory_bytes = options.memory_bytes, .threads = options.threads}, progress);
  for (ModePlot& plot : plots) {
    for (double& share : plot.shares) share /= total;
  }
  if (!RowErrors::are_defined(model)) return;
  ThreadPool pool(options.threads);
  std::vector<std::vector<double>> found = std::move(errors).finish(pool);
  const auto is_finite = [](const std::vector<double>& of_mode) {
    return std::ranges::all_of(of_mode, [](double error) { return std::isfinite(error); });
  };
  if (!std::ranges::all_of(found, is_finite)) return;
  for (std::size_t n = 0; n < plots.size(); ++n) plots[n].errors = std::move(found[n]);
}

ModePlot make_plot(const std::vector<double>& factor, std::size_t rank) {
  ModePlot plot{.sums = std::vector<double>(rank)};
  for (std::size_t at = 0; at < factor.size(); ++at) {
    plot.low = std::min(plot.low, factor[at]);
    plot.high = std::max(plot.high, factor[at]);
    plot.sums[at % rank] += std::abs(factor[at]);
  }
  return plot;
}

class Report {
 public:
  Report(const CpdModel& model, const ReportOptions& options, const ProgressCallback& progress)
      : model_(&model), options_(&options), components_(summarize()) {
    modes_ = page_modes(model.shape, model.mode_names, model.labels, options.index_base);
    for (std::size_t n = 0; n < modes_.size(); ++n) {
      plots_.push_back(make_plot(model.factors[n], static_cast<std::size_t>(model.rank)));
    }
    if (options.tensor != nullptr) read_tensor(plots_, model, options, progress);
  }

  void write(const TextSink& sink) const {
    const bool is_fit = !model_->fit_history.empty();
    sink(page_start(
        options_->title.empty() ? "CP model" : options_->title,
        facts() + history_of(is_fit ? model_->fit_history : model_->objective_history, is_fit ? "fit" : "objective") +
            starts() + outliers(),
        guide(), "components", options_->tensor != nullptr));
    for (const ComponentSummary& component : components_) sink(card(component));
    sink(page_end());
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

  std::string ridge_in_words() const {
    if (model_->found_ridge) return rounded(*model_->found_ridge) + " <small>found by the fit</small>";
    return model_->ridge > 0 ? rounded(model_->ridge) : "found by the fit";
  }

  std::string facts() const {
    PageFacts facts;
    const bool is_fit = !model_->fit_history.empty();
    facts.add("method", escaped(model_->method) + (model_->method == "als" ? "" : ", loss " + to_string(model_->loss)));
    facts.add("rank", std::to_string(model_->rank));
    if (is_fit) facts.add("fit", rounded(model_->fit(), 6) + " <small>1 - |X - model| / |X|</small>");
    if (!is_fit && !model_->objective_history.empty()) facts.add("objective", rounded(model_->objective(), 6));
    if (model_->explained) facts.add("explained", percent(*model_->explained) + " of the constant model's deviance");
    facts.add("sweeps",
              std::to_string(model_->sweeps()) + " <small>stopped by " + to_string(model_->stop_reason) + "</small>");
    facts.add_shape("shape", model_->shape, modes_);
    if (model_->tensor_nnz > 0) facts.add("nonzeros", std::to_string(model_->tensor_nnz));
    for (std::size_t n = 0; n < model_->constraints.size(); ++n) {
      if (model_->constraints[n] != RowConstraint{}) {
        facts.add("constraint", modes_[n].name + ": " + escaped(to_string(model_->constraints[n])));
      }
    }
    if (model_->ridge != 0) facts.add("ridge", ridge_in_words());
    facts.add("precision", to_string(model_->precision));
    facts.add("seed", std::to_string(model_->seed));
    if (const std::optional<Cancellation> found = find_cancellation(*model_)) {
      facts.add("note", "components " + std::to_string(found->first) + " and " + std::to_string(found->second) +
                            " cancel each other, and the largest component is " + rounded(found->excess, 3) +
                            " times as large as the tensor: read none of them by itself");
    }
    return facts.list();
  }

  std::string guide() const {
    std::string text = std::to_string(components_.size()) + " of " + std::to_string(model_->rank) +
                       " components by falling share, numbered from 0; the share is the weight over the sum of all "
                       "weights, each without its sign. All plots of a mode have one scale, and each mode its own. ";
    text +=
        options_->tensor == nullptr
            ? "Lift, how much more common an entry is in the component than in the tensor, is left out: it takes the "
              "tensor."
            : "×2 marks the lift: the entry is twice as common in the component as in the tensor.";
    return text;
  }

  // A row per start, with a cell per component of the model.
  std::string starts() const {
    if (options_->starts.empty()) return "";
    const StartReport* last_best = nullptr;
    for (const StartReport& start : options_->starts) last_best = start.is_best ? &start : last_best;
    const bool is_fit = !model_->fit_history.empty();
    std::string text =
        "<details id=\"starts\">\n<summary>Starts</summary>\n<p><small>Each start with its match: 1 if it is the model "
        "shown, up to the order of components. Cells are components, from 0 at the left; the fuller the colour, the "
        "more "
        "alike is the one that the start has.</small></p>\n<table>\n<tr><th>seed</th><th>";
    text += std::string(is_fit ? "fit" : "objective") + "</th><th>match</th><th></th></tr>\n";
    for (const StartReport& start : options_->starts) {
      const bool is_best = &start == last_best;
      const std::vector<double> best(model_->weights.size(), 1.0);
      text += "<tr><td>" + std::to_string(start.seed) + "</td><td>" + rounded(is_fit ? start.fit : start.objective, 6) +
              "</td><td>" +
              (start.match ? rounded(*start.match, 3, std::chars_format::fixed)
               : is_best   ? "best"
                           : "") +
              "</td><td>" + cells_of(is_best ? best : start.component_matches) + "</td></tr>\n";
    }
    return text + "</table>\n</details>\n";
  }

  // A plot per mode of leverage and residual, and its rows that are farthest from the corner of both.
  std::string outliers() const {
    if (plots_.front().errors.empty()) return "";
    std::string text =
        "<details id=\"outliers\">\n<summary>Outliers</summary>\n<p><small>Each dot is a row of the mode's factor, "
        "the farther to the right the more leverage it has: from 0 to 1, how much the components depend on this row "
        "alone. The higher, the larger is its residual: its part in the squared difference of the tensor and the "
        "model, ";
    text += model_->method == "complete" ? "over the entries alone" : "over all cells";
    text +=
        ", drawn by its root. Named are the rows farthest from the corner, each with residual and "
        "leverage.</small></p>\n"
        "<div class=\"modes lifts\">\n";
    ThreadPool pool(options_->threads);
    for (std::size_t n = 0; n < plots_.size(); ++n) {
      text += outliers_of(modes_[n], leverages(model_->factors[n], model_->rank, pool), plots_[n].errors);
    }
    return text + "</div>\n</details>\n";
  }

  static std::string outliers_of(const PageMode& mode, const std::vector<double>& leverage,
                                 const std::vector<double>& errors) {
    const double most_leverage = std::ranges::max(leverage);
    const double most_error = std::ranges::max(errors);
    const double whole = std::accumulate(errors.begin(), errors.end(), 0.0);
    const auto part = [](double number, double of) { return of > 0 ? number / of : 0.0; };
    std::vector<PlotPoint> points;
    points.reserve(leverage.size());
    for (std::size_t i = 0; i < leverage.size(); ++i) {
      points.push_back({part(leverage[i], most_leverage), std::sqrt(part(errors[i], most_error))});
    }
    const std::vector<std::size_t> order =
        largest_places(points.size(), named_peaks, [&](std::size_t i) { return std::hypot(points[i].x, points[i].y); });
    std::string text = "<section>\n<h3>" + mode.name + "</h3>\n" +
                       scatter_of(points, order, mode.name + ": residual by leverage") + "\n" +
                       axis("leverage 0", rounded(most_leverage, 3)) + "\n" + mode.list_start();
    for (std::size_t i = 0; i < order.size(); ++i) {
      text += bar_row(mark_of(i) + " " + mode.name_of(order[i]), part(errors[order[i]], most_error), false,
                      percent(part(errors[order[i]], whole)),
                      "<em>" + rounded(leverage[order[i]], 3, std::chars_format::fixed) + "</em>");
    }
    return text + "</ol>\n</section>\n";
  }

  std::string card(const ComponentSummary& component) const {
    const std::string number = std::to_string(component.component);
    std::string text = "<article id=\"component-" + number + "\">\n<h2>Component " + number + " <small>share " +
                       percent(component.share) + ", weight " + rounded(component.weight, 6) +
                       "</small></h2>\n<div class=\"modes\">\n";
    for (std::size_t n = 0; n < plots_.size(); ++n) {
      text += "<section>\n<h3>" + modes_[n].name + "</h3>\n";
      if (modes_[n].is_line) text += line(component, n);
      text += entries(component, n) + "</section>\n";
    }
    return text + "</div>\n</article>\n";
  }

  std::string line(const ComponentSummary& component, std::size_t n) const {
    const ModePlot& plot = plots_[n];
    const auto rank = static_cast<std::size_t>(model_->rank);
    const double* const column = model_->factors[n].data() + component.component;
    return line_along(modes_[n], model_->shape[n], plot.low, plot.high,
                      [&](std::size_t i) { return column[i * rank]; });
  }

  // Without those below a hundredth of the largest, whose bars nobody would see.
  std::string entries(const ComponentSummary& component, std::size_t n) const {
    const ModePlot& plot = plots_[n];
    const double scale = std::max(-plot.low, plot.high);
    const std::vector<FactorEntry>& largest = component.modes[n].largest;
    std::string list = modes_[n].list_start();
    for (std::size_t i = 0; i < largest.size() && !(modes_[n].is_line && i == named_peaks); ++i) {
      const auto& [row, value] = largest[i];
      const double size = std::abs(value);
      if (size < std::abs(largest.front().value) / 100) break;
      const std::string more = plot.shares.empty() ? "" : "<em>" + lift(component, n, largest[i]) + "</em>";
      list += bar_row(modes_[n].name_of(row), size / scale, value < 0, in_columns(value), more);
    }
    return list + "</ol>\n";
  }

  std::string lift(const ComponentSummary& component, std::size_t n, const FactorEntry& entry) const {
    const double share = plots_[n].shares[entry.row];
    if (!(share > 0)) return "";
    const double lift = std::abs(entry.value) / plots_[n].sums[static_cast<std::size_t>(component.component)] / share;
    return "×" + rounded(lift, lift < 1 ? 2 : lift < 10 ? 1 : 0, std::chars_format::fixed);
  }

  const CpdModel* model_;
  const ReportOptions* options_;
  std::vector<ComponentSummary> components_;
  std::vector<PageMode> modes_;
  std::vector<ModePlot> plots_;
};

}  // namespace

void write_report(const CpdModel& model, const TextSink& sink, const ReportOptions& options,
                  const ProgressCallback& progress) {
  check_callable(sink, "sink");
  Report(model, options, progress).write(sink);
}

void write_report(const CpdModel& model, const std::filesystem::path& output, const ReportOptions& options,
                  const ProgressCallback& progress, const OutputClaims* claims) {
  if (options.tensor != nullptr) refuse_inputs_as_outputs({options.tensor->summary().file}, {output});
  write_page(output, claims, [&](const TextSink& sink) { write_report(model, sink, options, progress); });
}

}  // namespace blco
