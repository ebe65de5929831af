// Where a fit starts whose columns keep their scale: factors without weights, of the data's size.
#pragma once

#include <span>

#include "engine/fit/fit_method.hpp"

namespace blco {

// Multiplies the backend's factors by the N-th root of the weights' magnitudes, and the first one by their signs.
// `weights` empty: the factors are random, and the same scale for all makes the model's entries add up to those of the
// tensor (poisson, which takes a pass), or gives the model the tensor's 2-norm (other losses). Where the model is a
// logarithm, they are centred at zero before.
void scale_initial_factors(const FitContext& context, const Loss& loss, std::span<const double> weights);

// Numbers of all factors.
std::uint64_t factor_numbers(const TensorSummary& tensor, int rank);

}  // namespace blco
