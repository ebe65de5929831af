// Rank-adaptive fits (Xiao & Yang, A rank-adaptive higher-order orthogonal iteration algorithm for truncated Tucker
// decomposition, arXiv 2110.12564): ranks grow until the error is met, then the core is cut as far as the error allows,
// and sweeps and cuts alternate until no cut is left.
#include "engine/fit/tucker_ranks.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "blco/error.hpp"
#include "engine/common/memory.hpp"
#include "engine/fit/initial_factors.hpp"
#include "engine/work/job.hpp"

namespace blco {
namespace {

// Sweeps of one set of ranks that do not meet the error before these grow: more help little.
constexpr std::size_t sweeps_before_growing = 3;

std::uint64_t bytes_of(const TuckerModel& model) {
  std::uint64_t numbers = model.core.size();
  for (const std::vector<double>& factor : model.factors) numbers += factor.size();
  return numbers * sizeof(double);
}

// A rank may not exceed the product of the others.
void bound_by_others(std::vector<std::uint64_t>& ranks) {
  for (std::uint64_t& rank : ranks) {
    std::uint64_t others = 1;
    for (const std::uint64_t& other : ranks) {
      if (&other != &rank && others < rank) others *= other;
    }
    rank = std::min(rank, others);
  }
}

// The core's squares, as a box of them shrinks from the ends of its modes.
class CoreCut {
 public:
  explicit CoreCut(const TuckerModel& model) : core_(model.core), ranks_(model.ranks), kept_(model.ranks) {}

  // Cuts last slices, those of the smallest squares first, while the squares that are left are at least `least`; where
  // a rank exceeds the product of the others then, its last slices too.
  void cut(double least) {
    while (true) {
      std::vector<std::uint64_t> best;
      double best_left = least;
      for (std::size_t n = 0; n < ranks_.size(); ++n) {
        if (kept_[n] == 1) continue;
        std::vector<std::uint64_t> kept = kept_;
        --kept[n];
        bound_by_others(kept);
        const double left = squares_within(kept);
        if (left < best_left || (!best.empty() && left == best_left)) continue;
        best = std::move(kept);
        best_left = left;
      }
      if (best.empty()) break;
      kept_ = std::move(best);
    }
  }

  const std::vector<std::uint64_t>& kept() const { return kept_; }

 private:
  double squares_within(const std::vector<std::uint64_t>& kept) const {
    double sum = 0;
    for (std::size_t at = 0; at < core_.size(); ++at) {
      std::size_t place = at;
      bool is_kept = true;
      for (std::size_t n = ranks_.size(); n-- > 0; place /= ranks_[n]) is_kept = is_kept && place % ranks_[n] < kept[n];
      if (is_kept) sum += core_[at] * core_[at];
    }
    return sum;
  }

  const std::vector<double>& core_;
  std::vector<std::uint64_t> ranks_;
  std::vector<std::uint64_t> kept_;
};

// The model's matrices with so many columns: the first ones, or more, drawn at random.
TuckerModel with_ranks(const TuckerModel& model, const std::vector<std::uint64_t>& ranks) {
  TuckerModel other;
  other.shape = model.shape;
  other.ranks = ranks;
  other.labels = model.labels;
  for (std::size_t n = 0; n < ranks.size(); ++n) {
    std::vector<double>& rows = other.factors.emplace_back(static_cast<std::size_t>(model.shape[n] * ranks[n]));
    fill_initial_rows(model.seed, static_cast<int>(n), 0, static_cast<int>(ranks[n]), rows, Start::normal);
    const std::uint64_t kept = std::min(ranks[n], model.ranks[n]);
    for (std::uint64_t i = 0; i < model.shape[n]; ++i) {
      std::copy_n(model.factors[n].begin() + static_cast<std::ptrdiff_t>(i * model.ranks[n]), kept,
                  rows.begin() + static_cast<std::ptrdiff_t>(i * ranks[n]));
    }
  }
  return other;
}

// Twice the ranks, as far as lengths and the other ranks allow.
std::vector<std::uint64_t> grown(const TuckerModel& model) {
  std::vector<std::uint64_t> ranks;
  for (std::size_t n = 0; n < model.ranks.size(); ++n) ranks.push_back(std::min(model.shape[n], 2 * model.ranks[n]));
  bound_by_others(ranks);
  return ranks;
}

class ErrorFit {
 public:
  ErrorFit(const Tensor& tensor, const TuckerOptions& options)
      : tensor_(&tensor), options_(&options), begin_(std::chrono::steady_clock::now()) {}

  TuckerModel run() {
    const double least = (1 - options_->max_error * options_->max_error) * tensor_->summary().sum_of_squares;
    TuckerModel start;
    bool stops_early = true;
    bool was_cut = false;
    while (true) {
      TuckerModel before = model_;
      const std::size_t sweeps = history_.size();
      const bool goes_on = run_round(start, stops_early);
      const bool is_met = 1 - model_.fit() <= options_->max_error;
      if (was_cut && !is_met) {  // by rounding
        model_ = std::move(before);
        history_.resize(sweeps);
        return finish();
      }
      if (!goes_on) return finish();
      std::vector<std::uint64_t> ranks = model_.ranks;
      if (is_met) {
        CoreCut cut(model_);
        cut.cut(least);
        ranks = cut.kept();
        was_cut = ranks != model_.ranks;
        if (!was_cut && !stops_early) return finish();
        stops_early = was_cut;  // else more sweeps may allow a cut
      } else {
        ranks = grown(model_);
        if (ranks == model_.ranks) return finish();
      }
      start = with_ranks(model_, ranks);
    }
  }

 private:
  TuckerModel finish() {
    model_.fit_history = history_;
    if (!is_stopped_ && model_.stop_reason == StopReason::cancelled) model_.stop_reason = StopReason::tolerance;
    return std::move(model_);
  }

  // Sweeps from the matrices of `start`, if it has any: until the error is met if it `stops_early`, or until another
  // set of ranks is due. Returns whether there may be more rounds.
  bool run_round(const TuckerModel& start, bool stops_early) {
    TuckerOptions options = *options_;
    options.max_error = 0;
    const bool is_first = start.factors.empty();
    if (!is_first) {
      options.initial = &start;
      options.ranks = {start.ranks.begin(), start.ranks.end()};
      // Another model is kept beside that one.
      const std::uint64_t budget = job_budget(options.compute);
      options.compute.memory.host_bytes = budget - std::min(budget - 1, 2 * bytes_of(model_));
    }
    options.max_sweeps = options_->max_sweeps - static_cast<int>(history_.size());
    if (options.max_sweeps < 1) {
      model_.stop_reason = StopReason::sweeps;
      return false;
    }
    if (!set_time_limit(options)) return false;
    const std::size_t before = history_.size();
    bool is_due = false;
    options.on_sweep = [&](const SweepReport& of_round) {
      SweepReport report = of_round;
      report.sweep = static_cast<int>(history_.size()) + 1;
      report.fit_change = report.fit - (history_.empty() ? 0 : history_.back());
      history_.push_back(report.fit);
      is_stopped_ = options_->on_sweep && !options_->on_sweep(report);
      const bool is_met = 1 - report.fit <= options_->max_error;
      is_due = is_met ? stops_early : history_.size() - before >= sweeps_before_growing;
      return !is_stopped_ && !is_due;
    };
    try {
      model_ = fit_tucker(*tensor_, options);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::out_of_memory && !is_first) {
        throw Error(error.kind(), std::string(error.what()) +
                                      "; on the host the models of the ranks before take another " +
                                      format_bytes(2 * bytes_of(model_)));
      }
      if (error.kind() != ErrorKind::cancelled || is_first) throw;
      is_stopped_ = true;  // before the first sweep of these ranks
      model_.stop_reason = StopReason::cancelled;
    }
    return !is_stopped_ && (is_due || model_.stop_reason == StopReason::tolerance);
  }

  // What is left of the time; false: nothing.
  bool set_time_limit(TuckerOptions& options) {
    if (options_->time_limit_seconds <= 0) return true;
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
    options.time_limit_seconds -= spent.count();
    if (options.time_limit_seconds > 0) return true;
    model_.stop_reason = StopReason::time;
    return false;
  }

  const Tensor* tensor_;
  const TuckerOptions* options_;
  std::chrono::steady_clock::time_point begin_;
  TuckerModel model_;            // of the last round
  std::vector<double> history_;  // of all
  bool is_stopped_ = false;      // by the caller
};

}  // namespace

TuckerModel fit_to_error(const Tensor& tensor, const TuckerOptions& options) { return ErrorFit(tensor, options).run(); }

}  // namespace blco
