// Runs the fits one after the other; holds the best model and the latest.
#include <algorithm>
#include <blco/model_match.hpp>
#include <blco/starts.hpp>
#include <chrono>
#include <string>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "engine/fit/cp_fit.hpp"

namespace blco {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

void check_starts(const CpdOptions& options, int starts) {
  if (starts < 1) refuse(option_name("starts") + " must be at least 1");
  if (starts == 1) return;
  const auto refuse_with = [](const std::string& option, const std::string& why) {
    refuse(option_name("starts") + " and " + option_name(option) + " exclude each other: " + why);
  };
  if (options.initial != nullptr) refuse_with("initial", "starts differ in their random factors alone");
  if (!options.resume.empty()) refuse_with("resume", "a resumed fit has started already");
  if (!options.checkpoint.empty()) refuse_with("checkpoint", "a checkpoint is of one fit");
  if (!options.trace.empty()) refuse_with("trace", "a trace is of one fit");
}

// The best model, beside a fit.
std::uint64_t held_bytes(const TensorSummary& tensor, int rank, int starts) {
  std::uint64_t bytes = 0;
  if (starts == 1) return bytes;
  for (const std::uint64_t length : tensor.shape) bytes += length * static_cast<std::uint64_t>(rank) * sizeof(double);
  for (const std::uint64_t labels : tensor.label_bytes) bytes += labels;
  return bytes;
}

bool was_stopped(StopReason reason) { return reason == StopReason::cancelled || reason == StopReason::time; }

class Starts {
 public:
  Starts(const Tensor& tensor, const MemoryBudget& budget, const CpdOptions& options, int starts)
      : tensor_(&tensor),
        budget_(budget),
        options_(&options),
        held_bytes_(held_bytes(tensor.summary(), options.rank, starts)) {}

  // Returns nothing if it was stopped before its first sweep was finished; throws then if there is no model yet.
  std::optional<StartReport> run(int start) {
    StartReport report{.start = start, .seed = options_->seed + static_cast<std::uint64_t>(start - 1)};
    const Clock::time_point begin = Clock::now();
    std::optional<CpdModel> model = fit(report);
    if (!model) return std::nullopt;
    report.sweeps = model->sweeps();
    report.fit = model->fit();
    report.objective = model->objective();
    report.stop_reason = model->stop_reason;
    report.seconds = seconds_since(begin);
    add(std::move(*model), report);
    return report;
  }

  bool is_out_of_time() const {
    return options_->time_limit_seconds > 0 && seconds_since(begin_) >= options_->time_limit_seconds;
  }

  StartsReport finish() {
    best_.labels = std::move(labels_);
    StartsReport all{.best = std::move(best_),
                     .best_start = best_start_,
                     .starts = std::move(reports_),
                     .lowest_match = {},
                     .mean_match = {}};
    double sum = 0;
    int count = 0;
    for (const StartReport& report : all.starts) {
      if (!report.match || was_stopped(report.stop_reason)) continue;
      sum += *report.match;
      ++count;
      all.lowest_match = std::min(all.lowest_match.value_or(1.0), *report.match);
    }
    if (count > 0) all.mean_match = sum / count;
    return all;
  }

 private:
  std::optional<CpdModel> fit(StartReport& report) {
    CpdOptions options = *options_;
    options.seed = report.seed;
    if (options.time_limit_seconds > 0) {
      // A limit of 0 would be none.
      options.time_limit_seconds = std::max(1e-9, options.time_limit_seconds - seconds_since(begin_));
    }
    if (!reports_.empty()) options.on_plan = {};
    options.on_sweep = [&](const SweepReport& sweep) {
      if (sweep.validation_error) {
        report.validation_error =
            std::min(report.validation_error.value_or(*sweep.validation_error), *sweep.validation_error);
      }
      return !options_->on_sweep || options_->on_sweep(sweep);
    };
    try {
      return run_fit(*tensor_, budget_, options, held_bytes_);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::cancelled || reports_.empty()) throw;
      return std::nullopt;
    }
  }

  void add(CpdModel model, StartReport& report) {
    // All models have the same labels: without them rows are compared by their numbers.
    if (reports_.empty()) labels_ = std::move(model.labels);
    model.labels.clear();
    if (!reports_.empty()) report.match = match_components(best_, model).score;
    const bool has_fit = std::holds_alternative<AlsMethod>(options_->method);
    if (reports_.empty()) {
      report.is_best = true;
    } else if (report.validation_error) {
      report.is_best = !best_error_ || *report.validation_error < *best_error_;
    } else {
      report.is_best = has_fit ? model.fit() > best_.fit() : model.objective() < best_.objective();
    }
    if (report.is_best) {
      best_error_ = report.validation_error;
      best_ = std::move(model);
      best_start_ = report.start;
    }
    reports_.push_back(report);
  }

  const Tensor* tensor_;
  MemoryBudget budget_;
  const CpdOptions* options_;
  std::uint64_t held_bytes_;
  Clock::time_point begin_ = Clock::now();
  CpdModel best_;  // without labels
  int best_start_ = 1;
  std::optional<double> best_error_;  // held-out, if there are such entries
  std::vector<Labels> labels_;
  std::vector<StartReport> reports_;
};

}  // namespace

CpdPlan plan_starts(const Tensor& tensor, const MemoryBudget& budget, const CpdOptions& options, int starts,
                    const DeclaredGpu* declared) {
  check_starts(options, starts);
  return plan_fit(tensor, budget, options, declared, held_bytes(tensor.summary(), options.rank, starts));
}

StartsReport fit_starts(const Tensor& tensor, const MemoryBudget& budget, const CpdOptions& options, int starts,
                        const std::function<void(const StartReport&)>& on_start) {
  check_starts(options, starts);
  Starts runs(tensor, budget, options, starts);
  for (int start = 1; start <= starts; ++start) {
    if (start > 1 && runs.is_out_of_time()) break;
    const std::optional<StartReport> report = runs.run(start);
    if (report && on_start) on_start(*report);
    if (!report || was_stopped(report->stop_reason)) break;
  }
  return runs.finish();
}

}  // namespace blco
