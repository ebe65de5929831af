// Where a fit starts whose columns keep their scale: factors without weights, of the data's size.
#pragma once

#include <span>

#include "engine/fit/methods/fit_method.hpp"

namespace blco {

// Multiplies the backend's factors by the N-th root of the weights' magnitudes, and the first one by their signs.
// `weights` empty: the factors are random, and the same scale for all makes the model's cells add up to the tensor's
// entries (where that is what the loss asks for, as poisson's does; it takes a pass), or gives the model the tensor's
// 2-norm. Where the model is a logarithm, they are centred at zero before.
void scale_initial_factors(const FitContext& context, const Loss& loss, std::span<const double> weights);

}  // namespace blco
