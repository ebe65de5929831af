// Writes a Tucker model as one page of HTML.
#include <algorithm>
#include <blco/report.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "blco/error.hpp"
#include "blco/refuse.hpp"
#include "engine/common/check_callable.hpp"
#include "engine/model/model_check.hpp"
#include "engine/report/report_page.hpp"

namespace blco {
namespace {

constexpr std::size_t usual_core_entries = 20;

// Its bar would be.
bool is_invisible(double number, double largest) { return std::abs(number) < std::abs(largest) / 100; }

class TuckerReport {
 public:
  TuckerReport(const TuckerModel& model, const ReportOptions& options) : model_(&model), options_(&options) {
    check_sizes(model, "cannot report on the model");
    if (options.tensor != nullptr) refuse("lift is told of CP models alone; leave out the tensor");
    modes_ = page_modes(model.shape, model.mode_names, model.labels, options.index_base);
    for (const double number : model.core) sum_of_squares_ += number * number;
  }

  void write(const TextSink& sink) const {
    PageFacts facts;
    facts.add("method", model_->method);
    facts.add_shape("ranks", model_->ranks, modes_);
    if (!model_->fit_history.empty()) {
      facts.add("fit", rounded(model_->fit(), 6) + " <small>1 - |X - model| / |X|</small>");
    }
    facts.add("sweeps",
              std::to_string(model_->sweeps()) + " <small>stopped by " + to_string(model_->stop_reason) + "</small>");
    facts.add_shape("shape", model_->shape, modes_);
    if (model_->tensor_nnz > 0) facts.add("nonzeros", std::to_string(model_->tensor_nnz));
    facts.add("seed", std::to_string(model_->seed));
    const std::string guide =
        "A number of the core tells how much of the model is in one column of each mode together; columns are numbered "
        "from 0. Shares are of the squares of the core: those of one number, or of all numbers of one column. All "
        "plots "
        "of a mode have one scale, and each mode its own.";
    sink(page_start(options_->title.empty() ? "Tucker model" : options_->title,
                    facts.list() + history_of(model_->fit_history, "fit"), guide, "parts", true));
    sink(core());
    for (std::size_t n = 0; n < modes_.size(); ++n) sink(card(n));
    sink(page_end());
  }

 private:
  std::string share_of(double squares) const { return percent(sum_of_squares_ > 0 ? squares / sum_of_squares_ : 0); }

  std::string core() const {
    const bool is_given = options_->components != std::numeric_limits<std::size_t>::max();
    std::vector<CoreEntry> largest = model_->top_of_core(is_given ? options_->components : usual_core_entries);
    std::erase_if(largest,
                  [most = largest](const CoreEntry& entry) { return is_invisible(entry.value, most[0].value); });
    std::string list = "<article id=\"core\">\n<h2>Core <small>" + std::to_string(largest.size()) + " of " +
                       std::to_string(model_->core.size()) + " numbers, largest first</small></h2>\n<ol>\n";
    for (const CoreEntry& entry : largest) {
      std::string name;
      for (std::size_t n = 0; n < modes_.size(); ++n) {
        name += (n == 0 ? "" : ", ") + modes_[n].name + " " + std::to_string(entry.index[n]);
      }
      const bool is_short = std::abs(entry.value) < 100;
      list += bar_row(name, std::abs(entry.value / largest.front().value), entry.value < 0,
                      is_short ? in_columns(entry.value) : short_number(entry.value),
                      "<em>" + share_of(entry.value * entry.value) + "</em>");
    }
    return list + "</ol>\n</article>\n";
  }

  // Of each column of a mode, the sum of the squares of its slice of the core.
  std::vector<double> squares_of(std::size_t mode) const {
    std::size_t behind = 1;  // numbers of the core for each step of the mode's column
    for (std::size_t n = mode + 1; n < modes_.size(); ++n) behind *= static_cast<std::size_t>(model_->ranks[n]);
    std::vector<double> squares(static_cast<std::size_t>(model_->ranks[mode]));
    for (std::size_t i = 0; i < model_->core.size(); ++i) {
      squares[i / behind % squares.size()] += model_->core[i] * model_->core[i];
    }
    return squares;
  }

  std::string card(std::size_t n) const {
    const std::vector<double>& factor = model_->factors[n];
    const auto [low, high] = std::ranges::minmax(factor);
    const std::vector<double> squares = squares_of(n);
    std::string text =
        "<article id=\"mode-" + std::to_string(n) + "\">\n<h2>" + modes_[n].name + "</h2>\n<div class=\"modes\">\n";
    for (std::size_t column = 0; column < squares.size(); ++column) {
      text += "<section>\n<h3>Column " + std::to_string(column) + " <small>share " + share_of(squares[column]) +
              "</small></h3>\n";
      if (modes_[n].is_line) {
        text += line_along(modes_[n], model_->shape[n], std::min(low, 0.0), std::max(high, 0.0),
                           [&](std::size_t i) { return factor[i * squares.size() + column]; });
      }
      text += modes_[n].list_start();
      const std::size_t count = modes_[n].is_line ? std::min(options_->entries, named_peaks) : options_->entries;
      const std::vector<FactorEntry> largest = model_->top(n, column, count);
      for (const FactorEntry& entry : largest) {
        if (is_invisible(entry.value, largest.front().value)) break;
        text += bar_row(modes_[n].name_of(entry.row), std::abs(entry.value) / std::max(-low, high), entry.value < 0,
                        in_columns(entry.value));
      }
      text += "</ol>\n</section>\n";
    }
    return text + "</div>\n</article>\n";
  }

  const TuckerModel* model_;
  const ReportOptions* options_;
  std::vector<PageMode> modes_;
  double sum_of_squares_ = 0;
};

}  // namespace

void write_report(const TuckerModel& model, const TextSink& sink, const ReportOptions& options) {
  check_callable(sink, "sink");
  TuckerReport(model, options).write(sink);
}

void write_report(const TuckerModel& model, const std::filesystem::path& output, const ReportOptions& options,
                  const OutputClaims* claims) {
  write_page(output, claims, [&](const TextSink& sink) { write_report(model, sink, options); });
}

}  // namespace blco
