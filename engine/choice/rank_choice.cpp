// Fits ranks one after the other, and weighs fit, core consistency and the agreement of starts.
#include <algorithm>
#include <blco/rank_choice.hpp>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/choice/run_starts.hpp"
#include "engine/common/check_outputs.hpp"

namespace blco {
namespace {

void check_several(const CpdOptions& options, const RankSearch& search) {
  const auto refuse_if = [](bool is_given, const char* option) {
    if (is_given) refuse(option_name(option) + " is about one fit, but there are several ranks; give one rank");
  };
  refuse_if(options.initial != nullptr, "initial");
  refuse_if(!options.resume.empty(), "resume");
  refuse_if(!options.checkpoint.empty(), "checkpoint");
  refuse_if(!options.compute.trace.empty(), "trace");
  refuse_if(!options.output.empty() && !search.output, "output");
}

class RankFits {
 public:
  RankFits(const Tensor& tensor, const CpdOptions& options, const RankSearch& search, OutputFiles& files)
      : tensor_(&tensor), given_(&options), search_(&search), files_(&files), options_(options) {
    options_.on_plan = {};
    options_.on_sweep = [this](const SweepReport& report) {
      return goes_on(!given_->on_sweep || given_->on_sweep(report));
    };
    options_.on_progress = [this](const Progress& progress) {
      return goes_on(!given_->on_progress || given_->on_progress(progress));
    };
  }
  RankFits(const RankFits&) = delete;
  RankFits& operator=(const RankFits&) = delete;

  // The largest first, since no other rank takes more memory.
  void plan(std::span<const int> ranks) const {
    std::vector<int> falling(ranks.begin(), ranks.end());
    std::ranges::sort(falling, std::greater());
    std::optional<CpdPlan> largest;
    for (const int rank : falling) {
      CpdPlan of_rank = plan_starts(*tensor_, options_of(rank), search_->starts);
      if (!largest) largest = std::move(of_rank);
    }
    if (largest && given_->on_plan) given_->on_plan(*largest);
  }

  // False if no other rank is to begin.
  bool run(int rank) {
    RankReport report;
    if (!fit(rank, report.starts)) return false;
    const CpdModel& model = report.starts.best;
    if (search_->measures_core) measure_core(model, report);
    if (report.core_consistency) {
      weighed_.push_back({rank, has_fit(options_.method) ? model.fit() : model.explained.value_or(0),
                          *report.core_consistency, report.starts.mean_match.value_or(1)});
    }
    is_first_ = false;
    if (search_->on_rank) goes_on(search_->on_rank(std::move(report)));
    return !is_stopped_ && seconds_left() > 0;
  }

  std::optional<int> choose() const { return choose_rank(weighed_); }

 private:
  using Clock = std::chrono::steady_clock;

  bool goes_on(bool answer) {
    is_stopped_ = is_stopped_ || !answer;
    return !is_stopped_;
  }

  double seconds_left() const {
    if (!(given_->time_limit_seconds > 0)) return std::numeric_limits<double>::infinity();
    return given_->time_limit_seconds - std::chrono::duration<double>(Clock::now() - begin_).count();
  }

  CpdOptions options_of(int rank) const {
    CpdOptions options = options_;
    options.rank = rank;
    if (search_->output) options.output = search_->output(rank);
    // A limit of 0 would be none.
    if (options.time_limit_seconds > 0) options.time_limit_seconds = std::max(1e-9, seconds_left());
    return options;
  }

  void begin(int rank, int start) const {
    if (search_->on_begin) search_->on_begin(rank, start);
  }

  // False if it was stopped before there was a model.
  bool fit(int rank, StartsReport& starts) {
    begin(rank, 1);
    const auto on_start = [&](const StartReport& report, const CpdModel& model) {
      if (search_->on_start) search_->on_start(report, model);
      if (report.start < search_->starts && !is_stopped_ && seconds_left() > 0) begin(rank, report.start + 1);
    };
    try {
      starts = run_starts(*tensor_, options_of(rank), search_->starts, on_start, *files_);
      return true;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::cancelled || is_first_) throw;
      return false;
    }
  }

  void measure_core(const CpdModel& model, RankReport& report) {
    if (!has_core_consistency(options_.method)) {
      report.core_gap = CoreGap::method;
    } else if (core_columns(model.shape.size(), model.rank) > max_core_columns) {
      report.core_gap = CoreGap::size;
    } else {
      begin(model.rank, 0);
      const CpdOptions options = options_of(model.rank);
      try {
        report.core_consistency =
            core_consistency(*tensor_, model, options.compute, options.on_progress, options.time_limit_seconds);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::out_of_memory && error.kind() != ErrorKind::cancelled) throw;
        report.core_gap = error.kind() == ErrorKind::cancelled ? CoreGap::stopped : CoreGap::memory;
      }
    }
  }

  const Tensor* tensor_;
  const CpdOptions* given_;
  const RankSearch* search_;
  OutputFiles* files_;
  CpdOptions options_;  // that notice a stop
  std::vector<RankedFit> weighed_;
  bool is_first_ = true;
  bool is_stopped_ = false;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace

std::optional<int> choose_rank(std::span<const RankedFit> fits) {
  constexpr double weight = 0.25;  // of a tenfold deviation, as a share of the best fit
  constexpr double equal = 0.02;
  for (const RankedFit& one : fits) {
    if (std::isfinite(one.fit) && std::isfinite(one.core_consistency) && std::isfinite(one.match)) continue;
    refuse("the fit of rank " + std::to_string(one.rank) + " has a number that is not finite; leave it out");
  }
  if (fits.size() < 2) return std::nullopt;
  const double best_fit = std::ranges::max(fits, {}, &RankedFit::fit).fit;
  if (best_fit <= 0) return std::nullopt;
  const auto score = [&](const RankedFit& one) {
    const double deviation = std::max(0.0, 1 - one.core_consistency / 100);
    return (one.fit / best_fit - weight * std::log10(1 + deviation)) * one.match;
  };
  const double best = score(std::ranges::max(fits, {}, score));
  std::optional<int> choice;
  for (const RankedFit& one : fits) {
    if (score(one) >= best - equal && (!choice || one.rank < *choice)) choice = one.rank;
  }
  return choice;
}

std::optional<int> fit_ranks(const Tensor& tensor, const CpdOptions& options, std::span<const int> ranks,
                             const RankSearch& search) {
  if (ranks.size() > 1) check_several(options, search);
  std::vector<std::filesystem::path> outputs = {options.checkpoint};
  for (const int rank : ranks) outputs.push_back(search.output ? search.output(rank) : options.output);
  refuse_inputs_as_outputs({tensor.summary().file}, outputs);
  OutputFiles files(outputs);
  RankFits fits(tensor, options, search, files);
  fits.plan(ranks);
  for (const int rank : ranks) {
    if (!fits.run(rank)) break;
  }
  return fits.choose();
}

}  // namespace blco
