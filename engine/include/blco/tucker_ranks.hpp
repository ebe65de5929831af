// Tucker models whose ranks follow from an error.
#pragma once

#include <blco/error.hpp>
#include <blco/tucker.hpp>
#include <functional>

namespace blco {

// Finds ranks for which |X - model| / |X| is at most `max_error`, above 0 and below 1. The search starts from
// options.ranks, or from those of options.initial; without either from the most up to 8 of each mode with a core of 4096
// numbers that the budget holds. Ranks double while three sweeps do not meet the error. Then the core loses slices as
// far as the error allows, and sweeps and cuts alternate (Xiao & Yang, A rank-adaptive higher-order orthogonal iteration
// algorithm for truncated Tucker decomposition, arXiv 2110.12564). A fit that ends before, by options.max_sweeps, by a
// stop or by its budget, may have a larger error. Where the budget does not hold the next ranks, or their core would have
// more than 2^32 numbers, `on_last_ranks` is called with the reason, and the model so far is returned, as `unfinished`.
// options.on_plan is called for each set of ranks.
// The square of the error is a difference of sums of squares, whose rounding hides small ones: max_error is at least
// 1e-6 if precision is f64, else 0.001. Throws Error as fit_tucker does, and invalid_argument for a smaller error, and
// for options.checkpoint, resume and held modes.
TuckerModel fit_tucker_to_error(const Tensor& tensor, const TuckerOptions& options, double max_error,
                                const std::function<void(const Error&)>& on_last_ranks = {});

// The plan of the first ranks.
TuckerPlan plan_tucker_to_error(const Tensor& tensor, const TuckerOptions& options, double max_error);

}  // namespace blco
