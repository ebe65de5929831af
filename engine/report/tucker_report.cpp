// The page about a Tucker model.
#include <algorithm>
#include <blco/report.hpp>
#include <limits>
#include <vector>

#include "blco/refuse.hpp"
#include "engine/common/check_callable.hpp"
#include "engine/model/model_check.hpp"
#include "engine/report/report_page.hpp"

namespace blco {
namespace {

constexpr std::size_t usual_core_entries = 20;

class TuckerReport {
 public:
  TuckerReport(const TuckerModel& model, const ReportOptions& options) : model_(&model), options_(&options) {
    check_sizes(model, "cannot report on the model");
    if (options.tensor != nullptr) refuse("lift is told of CP models alone; leave out the tensor");
    modes_ = page_modes(model.shape, model.mode_names, model.labels, options.index_base);
    for (std::size_t n = 0; n < modes_.size(); ++n) modes_[n].set_scale(model.factors[n]);
    for (const double number : model.core) sum_of_squares_ += number * number;
  }

  void write(const TextSink& sink) const {
    write_page(sink, head(), modes_, modes_.size(), [&](std::size_t n) { return part(n); });
  }

 private:
  double share_of(double squares) const { return sum_of_squares_ > 0 ? squares / sum_of_squares_ : 0; }

  Json head() const {
    return {{"kind", "tucker"},
            {"title", options_->title.empty() ? "Tucker model" : shortened(options_->title)},
            {"method", model_->method},
            {"ranks", model_->ranks},
            {"history_of", "fit"},
            {"history", model_->fit_history},
            {"stopped_by", to_string(model_->stop_reason)},
            {"nonzeros", model_->tensor_nnz},
            {"seed", std::to_string(model_->seed)},
            {"core_size", model_->core.size()},
            {"core", core()}};
  }

  // Its largest numbers, each with its place and its share of the squares.
  Json core() const {
    const bool is_given = options_->components != std::numeric_limits<std::size_t>::max();
    Json rows = Json::array();
    const auto largest = model_->top_of_core(is_given ? options_->components : usual_core_entries);
    for (const CoreEntry& entry : largest) {
      if (is_invisible(entry.value, largest.front().value)) break;
      rows.push_back({{"index", entry.index}, {"value", entry.value}, {"share", share_of(entry.value * entry.value)}});
    }
    return rows;
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

  Json part(std::size_t n) const {
    const std::vector<double> squares = squares_of(n);
    const std::size_t count = modes_[n].is_line ? std::min(options_->entries, named_peaks) : options_->entries;
    Json columns = Json::array();
    for (std::size_t column = 0; column < squares.size(); ++column) {
      Json json = modes_[n].column(model_->factors[n], squares.size(), column, model_->top(n, column, count));
      json["share"] = share_of(squares[column]);
      columns.push_back(std::move(json));
    }
    return {{"columns", columns}};
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

void write_report(const TuckerModel& model, const std::filesystem::path& output, const ReportOptions& options) {
  write_page_file(output, [&](const TextSink& sink) { write_report(model, sink, options); });
}

}  // namespace blco
