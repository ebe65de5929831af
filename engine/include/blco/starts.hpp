// Several fits from different random factors: the best of them, and how alike they are.
#pragma once

#include <blco/cpd.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace blco {

// One fit.
struct StartReport {
  int start = 0;  // counted from 1
  std::uint64_t seed = 0;
  std::size_t sweeps = 0;
  double fit = 0;                               // AlsMethod only
  double objective = 0;                         // of the other methods
  std::optional<double> validation_error = {};  // CompletionMethod with held-out entries: the smallest of its sweeps
  StopReason stop_reason = StopReason::sweeps;
  double seconds = 0;
  bool is_best = false;  // so far
  // Factor match score (model_match.hpp) with the best of the starts before it; none for the first.
  std::optional<double> match = {};
};

struct StartsReport {
  CpdModel best;
  int best_start = 1;
  std::vector<StartReport> starts;  // those that were finished, and one that was stopped
  // Of the match scores, without that of a start that was stopped; none if there is none. Scores near 1 say that the
  // answer is stable: fits from elsewhere find the same components.
  std::optional<double> lowest_match;
  std::optional<double> mean_match;
};

// Runs whole fits with the seeds options.seed, options.seed + 1, ..., and keeps the best model. The best has the
// largest fit; with other methods than AlsMethod the smallest objective; with held-out entries the smallest error. Of
// equals it is the first. options.time_limit_seconds limits all fits together. After a stop, by time or by a callback,
// no other start begins and the best model so far is returned; the stopped fit counts if it has finished a sweep.
// options.on_plan is called for the first start only, `on_start` after each start. Memory: that of fit_cpd, and with
// more than one start the best model beside the current one, all within the budget. Throws Error as fit_cpd does, and
// invalid_argument for less than one start, and for several with options.initial, resume, checkpoint or trace, which
// belong to a single fit.
StartsReport fit_starts(const Tensor& tensor, const MemoryBudget& budget, const CpdOptions& options, int starts,
                        const std::function<void(const StartReport&)>& on_start = {});

// Returns the plan that each of the fits would have: that of plan_cpd, with room for the best model.
CpdPlan plan_starts(const Tensor& tensor, const MemoryBudget& budget, const CpdOptions& options, int starts,
                    const DeclaredGpu* declared = nullptr);

}  // namespace blco
