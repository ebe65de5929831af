// Rank-adaptive fits (Xiao & Yang, A rank-adaptive higher-order orthogonal iteration algorithm for truncated Tucker
// decomposition, arXiv 2110.12564): ranks grow until the error is met, then the core is cut as far as the error allows,
// and sweeps and cuts alternate until no cut is left.
#include <algorithm>
#include <blco/tucker_ranks.hpp>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/memory.hpp"
#include "engine/fit/check_options.hpp"
#include "engine/fit/initial_factors.hpp"
#include "engine/fit/output_files.hpp"
#include "engine/fit/tucker_job.hpp"
#include "engine/work/job.hpp"
#include "engine/work/make_plan.hpp"

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

// The core's squares, as a box of them shrinks from the ends of its modes. Each number leaves the box once.
class CoreBox {
 public:
  explicit CoreBox(const TuckerModel& model) : core_(&model.core), kept_(model.ranks), strides_(kept_.size(), 1) {
    for (std::size_t n = kept_.size(); n-- > 1;) strides_[n - 1] = strides_[n] * kept_[n];
    for (const std::uint64_t rank : kept_) squares_.emplace_back(static_cast<std::size_t>(rank));
    for (std::uint64_t slice = 0; slice < kept_[0]; ++slice) add_slice(0, slice, 1);
  }

  // Cuts last slices, those of the smallest squares first, while the sum of what is cut is at most `most`; where a rank
  // exceeds the product of the others then, its last slices too.
  void cut(double most) {
    double sum = 0;
    while (true) {
      std::optional<CoreBox> best;
      double least = most - sum;
      for (std::size_t n = 0; n < kept_.size(); ++n) {
        if (kept_[n] == 1 || last_squares(n) > least || (best && last_squares(n) == least)) continue;
        CoreBox box = *this;
        const double squares = box.cut_one(n);
        if (squares > least || (best && squares == least)) continue;
        best = std::move(box);
        least = squares;
      }
      if (!best) break;
      *this = std::move(*best);
      sum += least;
    }
  }

  const std::vector<std::uint64_t>& kept() const { return kept_; }

 private:
  double last_squares(std::size_t n) const { return squares_[n][kept_[n] - 1]; }

  double cut_one(std::size_t n) {
    std::vector<std::uint64_t> wanted = kept_;
    --wanted[n];
    bound_by_others(wanted);
    double sum = 0;
    for (std::size_t m = 0; m < wanted.size(); ++m) {
      while (kept_[m] > wanted[m]) {
        sum += last_squares(m);
        add_slice(m, kept_[m] - 1, -1);
        --kept_[m];
      }
    }
    return sum;
  }

  // Adds the squares of a slice within the box, times `sign`, to those of all slices that it crosses.
  void add_slice(std::size_t mode, std::uint64_t slice, double sign) {
    std::vector<std::uint64_t> at(kept_.size());
    at[mode] = slice;
    std::uint64_t place = slice * strides_[mode];
    while (true) {
      const double number = (*core_)[place];
      for (std::size_t n = 0; n < at.size(); ++n) squares_[n][at[n]] += sign * number * number;
      std::size_t n = at.size();
      while (n-- > 0) {
        if (n == mode) continue;
        place += strides_[n];
        if (++at[n] < kept_[n]) break;
        place -= at[n] * strides_[n];
        at[n] = 0;
      }
      if (n == std::numeric_limits<std::size_t>::max()) return;
    }
  }

  const std::vector<double>* core_;
  std::vector<std::uint64_t> kept_;
  std::vector<std::uint64_t> strides_;
  std::vector<std::vector<double>> squares_;  // per mode and slice
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
  ErrorFit(const Tensor& tensor, const TuckerOptions& options, double max_error,
           const std::function<void(const Error&)>& on_last_ranks)
      : tensor_(&tensor),
        options_(&options),
        files_({options.output}),
        max_error_(max_error),
        on_last_ranks_(&on_last_ranks),
        begin_(std::chrono::steady_clock::now()) {}

  TuckerModel run() {
    const double squares = tensor_->summary().sum_of_squares;
    TuckerModel start;
    bool stops_early = true;
    bool was_cut = false;
    while (true) {
      TuckerModel before = model_;
      const std::size_t sweeps = history_.size();
      const bool goes_on = run_round(start, stops_early);
      const double error = 1 - model_.fit();
      const bool is_met = error <= max_error_;
      if (was_cut && !is_met) {  // by rounding
        model_ = std::move(before);
        history_.resize(sweeps);
        return finish();
      }
      if (!goes_on) return finish();
      std::vector<std::uint64_t> ranks = model_.ranks;
      if (is_met) {
        CoreBox box(model_);
        box.cut((max_error_ * max_error_ - error * error) * squares);
        ranks = box.kept();
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
    files_.save(model_, options_->output);
    return std::move(model_);
  }

  // Sweeps from the matrices of `start`, if it has any: until the error is met if it `stops_early`, or until another
  // set of ranks is due. Returns whether there may be more rounds.
  bool run_round(const TuckerModel& start, bool stops_early) {
    TuckerOptions options = *options_;
    const bool is_first = start.factors.empty();
    if (!is_first) {
      options.initial = &start;
      options.ranks = {start.ranks.begin(), start.ranks.end()};
    }
    options.max_sweeps = options_->max_sweeps - static_cast<int>(history_.size());
    if (options.max_sweeps < 1) {
      model_.stop_reason = StopReason::sweeps;
      return false;
    }
    if (!set_time_limit(options)) {
      if (is_first) throw Error(ErrorKind::cancelled, "out of time before the first sweep, so there is no model");
      return false;
    }
    const std::size_t before = history_.size();
    bool is_due = false;
    options.on_sweep = [&](const SweepReport& of_round) {
      SweepReport report = of_round;
      report.sweep = static_cast<int>(history_.size()) + 1;
      report.fit_change = report.fit - (history_.empty() ? 0 : history_.back());
      history_.push_back(report.fit);
      is_stopped_ = options_->on_sweep && !options_->on_sweep(report);
      const bool is_met = 1 - report.fit <= max_error_;
      is_due = is_met ? stops_early : history_.size() - before >= sweeps_before_growing;
      return !is_stopped_ && !is_due;
    };
    try {
      if (!is_first) leave_room(options);
      model_ = run_tucker(*tensor_, options, {}, files_);
    } catch (const Error& error) {
      if (is_first) throw;
      if (error.kind() == ErrorKind::cancelled) {
        is_stopped_ = true;  // before the first sweep of these ranks
        if (set_time_limit(options)) model_.stop_reason = StopReason::cancelled;
      } else if (error.kind() == ErrorKind::out_of_memory || error.kind() == ErrorKind::invalid_argument) {
        history_.resize(before);
        model_.stop_reason = StopReason::unfinished;
        if (*on_last_ranks_) (*on_last_ranks_)(error);
        return false;
      } else {
        throw;
      }
    }
    return !is_stopped_ && (is_due || model_.stop_reason == StopReason::tolerance);
  }

  // Takes what the models of the ranks before hold off the budget. Throws Error if the rest does not hold a fit.
  void leave_room(TuckerOptions& options) const {
    const std::uint64_t held = 2 * bytes_of(model_);
    const std::uint64_t budget = job_budget(options.compute);
    options.compute.memory.host_bytes = ample_bytes;
    const std::uint64_t least = plan_tucker(*tensor_, options).plan.minimum_bytes + held;
    if (least > budget) {
      std::string ranks;
      for (const int rank : options.ranks) {
        if (!ranks.empty()) ranks += 'x';
        ranks += std::to_string(rank);
      }
      throw Error(ErrorKind::out_of_memory, "the next ranks, " + ranks + ", require " + format_bytes(least) +
                                                " of host memory beside the model so far, but the budget is " +
                                                format_bytes(budget) + "; give at least " +
                                                option_name("host_bytes", as_budget(least)) + " to go on");
    }
    options.compute.memory.host_bytes = budget - held;
  }

  // What is left of the time; false: nothing.
  bool set_time_limit(TuckerOptions& options) {
    if (options_->time_limit_seconds <= 0) return true;
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
    options.time_limit_seconds = options_->time_limit_seconds - spent.count();
    if (options.time_limit_seconds > 0) return true;
    model_.stop_reason = StopReason::time;
    return false;
  }

  const Tensor* tensor_;
  const TuckerOptions* options_;
  OutputFiles files_;
  double max_error_;
  const std::function<void(const Error&)>* on_last_ranks_;
  std::chrono::steady_clock::time_point begin_;
  TuckerModel model_;            // of the last round
  std::vector<double> history_;  // of all
  bool is_stopped_ = false;      // by the caller
};

bool has_room(const Tensor& tensor, const TuckerOptions& options) {
  try {
    plan_tucker(tensor, options);
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::out_of_memory) throw;
    return false;
  }
}

// Of each mode: as many as a small core and the budget have room for.
int first_rank(const Tensor& tensor, TuckerOptions options) {
  constexpr int most = 8;
  constexpr double most_numbers = 4096;  // of the core
  int rank = most;
  while (rank > 1 && std::pow(rank, tensor.order()) > most_numbers) --rank;
  for (; rank > 1; rank /= 2) {
    options.ranks = {rank};
    if (has_room(tensor, options)) break;
  }
  return rank;
}

void check_error(const TuckerOptions& options, double max_error) {
  check_end(options.max_sweeps, options.tolerance, options.time_limit_seconds);
  if (!(max_error > 0 && max_error < 1)) {
    refuse(option_name("max_error") + " must be above 0 and below 1: it is a share of the tensor's norm");
  }
  // The error is the root of a difference of sums of squares, which leaves no digit of smaller ones.
  const bool is_f64 = options.compute.precision == Precision::f64;
  if (max_error < (is_f64 ? 1e-6 : 1e-3)) {
    refuse(option_name("max_error") + " must be at least " + (is_f64 ? "0.000001" : "0.001") + " with " +
           option_name("precision", to_string(options.compute.precision)) + ", which cannot tell smaller ones" +
           (is_f64 ? "; or give ranks by " + option_name("ranks") : "; use " + option_name("precision", "f64")));
  }
  if (!options.resume.empty() || !options.checkpoint.empty())
    refuse(option_name("max_error") + " has no checkpoints; leave one of them out");
  if (std::ranges::any_of(options.constraints, &RowConstraint::is_held)) {
    refuse(option_name("max_error") + " changes the ranks of all modes, so that none can be held; leave out one of " +
           option_name("max_error") + " and " + option_name("held"));
  }
}

// With the first ranks.
TuckerOptions start_of_search(const Tensor& tensor, TuckerOptions options, double max_error) {
  check_error(options, max_error);
  if (!options.ranks.empty() || options.initial != nullptr) return options;
  options.ranks = {1};
  has_room(tensor, options);  // all else is checked first
  options.ranks = {first_rank(tensor, options)};
  return options;
}

}  // namespace

TuckerModel fit_tucker_to_error(const Tensor& tensor, const TuckerOptions& options, double max_error,
                                const std::function<void(const Error&)>& on_last_ranks) {
  const TuckerOptions first = start_of_search(tensor, options, max_error);
  return ErrorFit(tensor, first, max_error, on_last_ranks).run();
}

TuckerPlan plan_tucker_to_error(const Tensor& tensor, const TuckerOptions& options, double max_error) {
  return plan_tucker(tensor, start_of_search(tensor, options, max_error));
}

}  // namespace blco
