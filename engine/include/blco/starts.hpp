// Several fits from different random factors: the best of them, and how alike they are.
#pragma once

#include <blco/cpd.hpp>
#include <blco/fields.hpp>
#include <blco/tucker.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>
#include <vector>

namespace blco {

// One fit.
struct StartReport {
  int start = 0;  // counted from 1
  std::uint64_t seed = 0;
  std::size_t sweeps = 0;
  double fit = 0;                               // AlsMethod and Tucker models only
  double objective = 0;                         // of the other methods
  std::optional<double> explained = {};         // SweepReport::explained
  std::optional<double> validation_error = {};  // CompletionMethod with held-out entries: the smallest of its sweeps
  std::optional<HeldOutReport> held_out = {};   // of its last sweep
  StopReason stop_reason = StopReason::sweeps;
  double seconds = 0;
  bool is_best = false;  // so far
  // Known once all starts have ended:
  // It falls short of the best start by no more than 0.001: of the fit, of `explained`, or of the validation error as a
  // share of the least one; of another objective, by that share of the sum of the squared values.
  bool reaches_best = false;
  // CP: the factor match score (model_match.hpp) with the best model, and that of each component of the best model.
  // Tucker, whose columns may be rotated: `mode_matches` has per mode the mean squared cosine of the principal angles
  // between the spaces of the two matrices, |U^T V|^2 / R, which is 1 where the spaces are the same, and R / I on
  // average for random spaces; `match` is the least of them. The best start has none, nor has one whose model was not
  // held.
  std::optional<double> match = {};
  std::vector<double> component_matches = {};
  std::vector<double> mode_matches = {};
};

template <>
inline constexpr auto fields_of<StartReport> = std::tuple(
    Field{"start", &StartReport::start}, Field{"seed", &StartReport::seed}, Field{"sweeps", &StartReport::sweeps},
    Field{"fit", &StartReport::fit}, Field{"objective", &StartReport::objective},
    Field{"explained", &StartReport::explained}, Field{"validation_error", &StartReport::validation_error},
    Field{"held_out", &StartReport::held_out}, Field{"is_best", &StartReport::is_best},
    Field{"stop_reason", &StartReport::stop_reason}, Field{"seconds", &StartReport::seconds},
    Field{"reaches_best", &StartReport::reaches_best}, Field{"match", &StartReport::match},
    Field{"component_matches", &StartReport::component_matches}, Field{"mode_matches", &StartReport::mode_matches});

struct StartsSummary {
  int best_start = 1;
  std::vector<StartReport> starts;  // those that were finished, and one that was stopped
  int reaching = 0;                 // how many of them reach the best, itself included
  // Of the match scores, without that of a start that was stopped; none if there is none. Scores near 1 say that the
  // answer is stable: fits from elsewhere find the same components.
  std::optional<double> lowest_match;
  std::optional<double> mean_match;
};

// All but `starts`.
template <>
inline constexpr auto fields_of<StartsSummary> = std::tuple(Field{"best", &StartsSummary::best_start},
                                                            Field{"reaching", &StartsSummary::reaching},
                                                            Field{"lowest_match", &StartsSummary::lowest_match},
                                                            Field{"mean_match", &StartsSummary::mean_match});

template <class Model>
struct StartsOf : StartsSummary {
  Model best;
};
using StartsReport = StartsOf<CpdModel>;
using TuckerStartsReport = StartsOf<TuckerModel>;

// Runs whole fits with the seeds options.seed, options.seed + 1, ..., and keeps the best model. The best has the
// largest fit; with other methods than AlsMethod the smallest objective; with held-out entries the smallest error. Of
// equals it is the first. options.time_limit_seconds limits all fits together. After a stop, by time or by a callback,
// no other start begins and the best model so far is returned; the stopped fit counts if it has finished a sweep.
// The best is saved as options.output. options.on_plan is called for the first start only, `on_start` after each start,
// with its model. Memory: that of fit_cpd, and beside the current model those of the starts before it, all within the
// budget. Of more than 32, or where the budget has no room, the worst are dropped; the best always has room. Throws
// Error as fit_cpd does, and invalid_argument for less than one start, and for several with options.initial, resume,
// checkpoint or trace, which belong to a single fit.
StartsReport fit_starts(const Tensor& tensor, const CpdOptions& options, int starts,
                        const std::function<void(const StartReport&, const CpdModel&)>& on_start = {});

// Returns the plan that each of the fits would have: that of plan_cpd, with room for the models of others.
CpdPlan plan_starts(const Tensor& tensor, const CpdOptions& options, int starts, const DeclaredGpu* declared = nullptr);

// Same for Tucker models, by fit_tucker. An automatic method is the one that the budget has room for beside one more
// model, in all starts.
TuckerStartsReport fit_starts(const Tensor& tensor, const TuckerOptions& options, int starts,
                              const std::function<void(const StartReport&, const TuckerModel&)>& on_start = {});
TuckerPlan plan_starts(const Tensor& tensor, const TuckerOptions& options, int starts);

}  // namespace blco
