// Runs the fits one after the other, and holds the better ones of their models to compare them at the end.
#include <algorithm>
#include <blco/model_match.hpp>
#include <blco/starts.hpp>
#include <chrono>
#include <string>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
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
  if (!options.compute.trace.empty()) refuse_with("trace", "a trace is of one fit");
}

std::uint64_t bytes_of_models(const TensorSummary& tensor, int rank, int models) {
  std::uint64_t bytes = 0;
  for (const std::uint64_t length : tensor.shape) bytes += length * static_cast<std::uint64_t>(rank) * sizeof(double);
  bytes *= static_cast<std::uint64_t>(models);
  // They share their labels.
  for (const std::uint64_t labels : tensor.label_bytes) bytes += models > 0 ? labels : 0;
  return bytes;
}

// How many models beside that of a fit the budget has room for, and the plan of the fits.
std::pair<int, CpdPlan> plan_models(const Tensor& tensor, const CpdOptions& options, int starts,
                                    const DeclaredGpu* declared) {
  constexpr int most_models = 32;
  for (int models = std::min(starts - 1, most_models);; models /= 2) {
    const std::uint64_t bytes = bytes_of_models(tensor.summary(), options.rank, models);
    try {
      CpdPlan plan = plan_fit(tensor, options, declared, bytes);
      plan.minimum_bytes -= bytes - bytes_of_models(tensor.summary(), options.rank, std::min(models, 1));
      return {models, plan};
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::out_of_memory || models <= 1) throw;
    }
  }
}

bool was_stopped(StopReason reason) { return reason == StopReason::cancelled || reason == StopReason::time; }

using OnStart = std::function<void(const StartReport&, const CpdModel&)>;

constexpr double reaching_shortfall = 1e-3;

class Starts {
 public:
  // `models`: beside that of a fit.
  Starts(const Tensor& tensor, const CpdOptions& options, int models)
      : tensor_(&tensor),
        options_(&options),
        most_models_(static_cast<std::size_t>(models)),
        held_bytes_(bytes_of_models(tensor.summary(), options.rank, models)) {}

  // Returns null if it was stopped before its first sweep was finished; throws then if there is no model yet.
  const StartReport* run(int start, const OnStart& on_start) {
    StartReport report{.start = start, .seed = options_->seed + static_cast<std::uint64_t>(start - 1)};
    const Clock::time_point begin = Clock::now();
    drop_worst();
    std::optional<CpdModel> model = fit(report);
    if (!model) return nullptr;
    report.sweeps = model->sweeps();
    report.fit = model->fit();
    report.objective = model->objective();
    report.explained = model->explained;
    report.stop_reason = model->stop_reason;
    report.seconds = seconds_since(begin);
    report.is_best = reports_.empty() || is_better(report, best());
    if (report.is_best) best_ = reports_.size();
    if (on_start) on_start(report, *model);
    // All models have the same labels: without them rows are compared by their numbers.
    if (reports_.empty()) labels_ = std::move(model->labels);
    model->labels.clear();
    held_.push_back({std::move(*model), reports_.size()});
    reports_.push_back(report);
    return &reports_.back();
  }

  bool is_out_of_time() const {
    return options_->time_limit_seconds > 0 && seconds_since(begin_) >= options_->time_limit_seconds;
  }

  StartsReport finish() {
    const auto best_model = std::ranges::find(held_, best_, &Held::report);
    StartsReport all;
    double sum = 0;
    int count = 0;
    for (const Held& held : held_) {
      if (held.report != best_) compare(best_model->model, held.model, reports_[held.report]);
    }
    for (StartReport& report : reports_) {
      report.reaches_best = &report == &best() || shortfall(report) <= reaching_shortfall;
      all.reaching += report.reaches_best ? 1 : 0;
      if (!report.match || was_stopped(report.stop_reason)) continue;
      sum += *report.match;
      ++count;
      all.lowest_match = std::min(all.lowest_match.value_or(1.0), *report.match);
    }
    if (count > 0) all.mean_match = sum / count;
    all.best_start = best().start;
    all.best = std::move(best_model->model);
    all.best.labels = std::move(labels_);
    all.starts = std::move(reports_);
    return all;
  }

 private:
  struct Held {
    CpdModel model;  // without labels
    std::size_t report;
  };

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
      return run_fit(*tensor_, options, held_bytes_);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::cancelled || reports_.empty()) throw;
      return std::nullopt;
    }
  }

  const StartReport& best() const { return reports_[best_]; }

  static bool is_better(const StartReport& start, const StartReport& other) {
    if (start.validation_error) return *start.validation_error < *other.validation_error;
    return start.fit > other.fit || start.objective < other.objective;
  }

  // As StartReport::reaches_best has it.
  double shortfall(const StartReport& start) const {
    if (start.validation_error) return *start.validation_error / *best().validation_error - 1;
    if (start.explained) return *best().explained - *start.explained;
    return best().fit - start.fit + (start.objective - best().objective) / tensor_->summary().sum_of_squares;
  }

  // Before a fit, whose model will be one more.
  void drop_worst() {
    if (held_.size() <= most_models_) return;
    std::ranges::stable_sort(held_, [this](const Held& one, const Held& other) {
      return is_better(reports_[one.report], reports_[other.report]);
    });
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(most_models_), held_.end());
  }

  static void compare(const CpdModel& best, const CpdModel& model, StartReport& report) {
    const ModelMatch match = match_components(best, model);
    report.match = match.score;
    report.component_matches.resize(match.pairs.size());
    for (const ComponentMatch& pair : match.pairs) {
      report.component_matches[static_cast<std::size_t>(pair.component)] = pair.score;
    }
  }

  const Tensor* tensor_;
  const CpdOptions* options_;
  std::size_t most_models_;
  std::uint64_t held_bytes_;
  Clock::time_point begin_ = Clock::now();
  std::vector<Held> held_;
  std::vector<Labels> labels_;
  std::vector<StartReport> reports_;
  std::size_t best_ = 0;  // of reports_
};

}  // namespace

CpdPlan plan_starts(const Tensor& tensor, const CpdOptions& options, int starts, const DeclaredGpu* declared) {
  check_starts(options, starts);
  return plan_models(tensor, options, starts, declared).second;
}

StartsReport fit_starts(const Tensor& tensor, const CpdOptions& options, int starts, const OnStart& on_start) {
  check_starts(options, starts);
  const int models = starts > 1 ? plan_models(tensor, options, starts, nullptr).first : 0;
  Starts runs(tensor, options, models);
  for (int start = 1; start <= starts; ++start) {
    if (start > 1 && runs.is_out_of_time()) break;
    const StartReport* const report = runs.run(start, on_start);
    if (report == nullptr || was_stopped(report->stop_reason)) break;
  }
  return runs.finish();
}

}  // namespace blco
