// Runs the fits one after the other, and holds the better ones of their models to compare them at the end.
#include <algorithm>
#include <blco/model_match.hpp>
#include <blco/starts.hpp>
#include <chrono>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/choice/run_starts.hpp"
#include "engine/fit/cp_fit.hpp"
#include "engine/fit/tucker_job.hpp"

namespace blco {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

template <class Options>
void check_starts(const Options& options, int starts) {
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

std::uint64_t numbers_of_model(const TensorSummary& tensor, const CpdOptions& options) {
  return std::reduce(tensor.shape.begin(), tensor.shape.end()) * static_cast<std::uint64_t>(options.rank);
}

std::uint64_t numbers_of_model(const TensorSummary& tensor, const TuckerOptions& options) {
  std::uint64_t core = 1;
  std::uint64_t numbers = 0;
  const std::vector<int> ranks = ranks_of(options, tensor.shape);
  for (std::size_t n = 0; n < ranks.size(); ++n) {
    core *= static_cast<std::uint64_t>(ranks[n]);
    numbers += tensor.shape[n] * static_cast<std::uint64_t>(ranks[n]);
  }
  return numbers + core;
}

template <class Options>
Account memory_of_models(const TensorSummary& tensor, const Options& options, int models) {
  Account memory;
  if (models == 0) return memory;
  // They share their labels.
  memory.take("labels", std::reduce(tensor.label_bytes.begin(), tensor.label_bytes.end()));
  memory.take_by_rank("models of other starts",
                      numbers_of_model(tensor, options) * sizeof(double) * static_cast<std::uint64_t>(models));
  return memory;
}

// How many models beside that of a fit the budget has room for, and the plan that plan_beside(memory) makes for a fit
// beside so many; it gives none where more than one would cost too much.
template <class Options, class PlanBeside>
auto find_room(const TensorSummary& tensor, const Options& options, int starts, const PlanBeside& plan_beside) {
  constexpr int most_models = 32;
  for (int models = std::min(starts - 1, most_models);; models /= 2) {
    try {
      if (auto plan = plan_beside(memory_of_models(tensor, options, models)))
        return std::pair(models, *std::move(plan));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::out_of_memory || models <= 1) throw;
    }
  }
}

std::pair<int, CpdPlan> plan_models(const Tensor& tensor, const CpdOptions& options, int starts,
                                    const DeclaredGpu* declared) {
  auto [models, plan] = find_room(tensor.summary(), options, starts, [&](const Account& held) {
    return std::optional(plan_fit(tensor, options, declared, held));
  });
  plan.minimum_bytes -= memory_of_models(tensor.summary(), options, models).bytes() -
                        memory_of_models(tensor.summary(), options, std::min(models, 1)).bytes();
  return {models, plan};
}

// Sets an automatic method, and holds no more models than leave the passes as they are beside one.
std::pair<int, TuckerPlan> plan_models(const Tensor& tensor, TuckerOptions& options, int starts) {
  if (starts == 1) return {0, plan_tucker(tensor, options)};
  const TuckerPlan least = plan_run(tensor, options, memory_of_models(tensor.summary(), options, 1));
  options.method = least.method;
  auto [models, plan] = find_room(tensor.summary(), options, starts, [&](const Account& held) {
    const TuckerPlan beside = plan_run(tensor, options, held);
    return beside.passes_per_sweep > least.passes_per_sweep ? std::nullopt : std::optional(beside);
  });
  plan.plan.minimum_bytes = least.plan.minimum_bytes;
  plan.plan.device_minimum_bytes = least.plan.device_minimum_bytes;
  return {models, plan};
}

CpdModel run_beside(const Tensor& tensor, const CpdOptions& options, const Account& held, OutputFiles& files) {
  return run_fit(tensor, options, held, files);
}

TuckerModel run_beside(const Tensor& tensor, const TuckerOptions& options, const Account& held, OutputFiles& files) {
  return run_tucker(tensor, options, held, files);
}

void compare(const CpdModel& best, const CpdModel& model, StartReport& report) {
  const ModelMatch match = match_components(best, model);
  report.match = match.score;
  report.component_matches.resize(match.pairs.size());
  for (const ComponentMatch& pair : match.pairs) {
    report.component_matches[static_cast<std::size_t>(pair.component)] = pair.score;
  }
}

// |U^T V|^2 / R of two row-major matrices with orthonormal columns.
double space_match(const std::vector<double>& first, const std::vector<double>& second, std::size_t columns) {
  std::vector<double> products(columns * columns);
  for (std::size_t at = 0; at < first.size(); at += columns) {
    for (std::size_t r = 0; r < columns; ++r) {
      for (std::size_t s = 0; s < columns; ++s) products[r * columns + s] += first[at + r] * second[at + s];
    }
  }
  return std::inner_product(products.begin(), products.end(), products.begin(), 0.0) / static_cast<double>(columns);
}

void compare(const TuckerModel& best, const TuckerModel& model, StartReport& report) {
  for (std::size_t n = 0; n < best.factors.size(); ++n) {
    report.mode_matches.push_back(
        space_match(best.factors[n], model.factors[n], static_cast<std::size_t>(best.ranks[n])));
  }
  report.match = std::ranges::min(report.mode_matches);
}

bool was_stopped(StopReason reason) { return reason == StopReason::cancelled || reason == StopReason::time; }

template <class Model>
using OnStart = std::function<void(const StartReport&, const Model&)>;

constexpr double reaching_shortfall = 1e-3;

template <class Options, class Model>
class Starts {
 public:
  // `models`: beside that of a fit.
  Starts(const Tensor& tensor, const Options& options, int models, OutputFiles& files)
      : tensor_(&tensor),
        options_(&options),
        files_(&files),
        most_models_(static_cast<std::size_t>(models)),
        held_memory_(memory_of_models(tensor.summary(), options, models)) {}

  // Returns null if it was stopped before its first sweep was finished; throws then if there is no model yet.
  const StartReport* run(int start, const OnStart<Model>& on_start) {
    StartReport report{.start = start, .seed = options_->seed + static_cast<std::uint64_t>(start - 1)};
    const Clock::time_point begin = Clock::now();
    drop_worst();
    std::optional<Model> model = fit(report);
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

  StartsOf<Model> finish() {
    const auto best_model = std::ranges::find(held_, best_, &Held::report);
    StartsOf<Model> all;
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
    Model model;  // without labels
    std::size_t report;
  };

  std::optional<Model> fit(StartReport& report) {
    Options options = *options_;
    options.seed = report.seed;
    if (options.time_limit_seconds > 0) {
      // A limit of 0 would be none.
      options.time_limit_seconds = std::max(1e-9, options.time_limit_seconds - seconds_since(begin_));
    }
    if (!reports_.empty()) options.on_plan = {};
    options.on_sweep = [&](const SweepReport& sweep) {
      report.held_out = sweep.held_out;
      if (sweep.validation_error) {
        report.validation_error =
            std::min(report.validation_error.value_or(*sweep.validation_error), *sweep.validation_error);
      }
      return !options_->on_sweep || options_->on_sweep(sweep);
    };
    try {
      return run_beside(*tensor_, options, held_memory_, *files_);
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

  const Tensor* tensor_;
  const Options* options_;
  OutputFiles* files_;
  std::size_t most_models_;
  Account held_memory_;
  Clock::time_point begin_ = Clock::now();
  std::vector<Held> held_;
  std::vector<Labels> labels_;
  std::vector<StartReport> reports_;
  std::size_t best_ = 0;  // of reports_
};

template <class Model, class Options>
StartsOf<Model> run_all(const Tensor& tensor, const Options& options, int starts, int models,
                        const OnStart<Model>& on_start, OutputFiles& files) {
  Starts<Options, Model> runs(tensor, options, models, files);
  for (int start = 1; start <= starts; ++start) {
    if (start > 1 && runs.is_out_of_time()) break;
    const StartReport* const report = runs.run(start, on_start);
    if (report == nullptr || was_stopped(report->stop_reason)) break;
  }
  StartsOf<Model> all = runs.finish();
  files.save(all.best, options.output);
  return all;
}

}  // namespace

CpdPlan plan_starts(const Tensor& tensor, const CpdOptions& options, int starts, const DeclaredGpu* declared) {
  check_starts(options, starts);
  return plan_models(tensor, options, starts, declared).second;
}

StartsReport fit_starts(const Tensor& tensor, const CpdOptions& options, int starts,
                        const OnStart<CpdModel>& on_start) {
  check_starts(options, starts);
  OutputFiles files({options.output, options.checkpoint});
  return run_starts(tensor, options, starts, on_start, files);
}

StartsReport run_starts(const Tensor& tensor, const CpdOptions& options, int starts, const OnStart<CpdModel>& on_start,
                        OutputFiles& files) {
  const int models = starts > 1 ? plan_models(tensor, options, starts, nullptr).first : 0;
  return run_all<CpdModel>(tensor, options, starts, models, on_start, files);
}

TuckerPlan plan_starts(const Tensor& tensor, const TuckerOptions& options, int starts) {
  check_starts(options, starts);
  TuckerOptions of_all = options;
  return plan_models(tensor, of_all, starts).second;
}

TuckerStartsReport fit_starts(const Tensor& tensor, const TuckerOptions& options, int starts,
                              const OnStart<TuckerModel>& on_start) {
  check_starts(options, starts);
  OutputFiles files({options.output, options.checkpoint});
  TuckerOptions of_all = options;
  const int models = starts > 1 ? plan_models(tensor, of_all, starts).first : 0;
  return run_all<TuckerModel>(tensor, of_all, starts, models, on_start, files);
}

}  // namespace blco
