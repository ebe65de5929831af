// Where a fit starts whose columns keep their scale: factors without weights, of the data's size.
#pragma once

#include <span>

#include "engine/fit/methods/fit_method.hpp"

namespace blco {

// Multiplies the factors by the N-th root of the weights' magnitudes, and the first one by their signs; then
// negative numbers become 0 where a constraint asks for that.
// `weights` empty: the factors are random, uniform in [0, 1). Where the model is a logarithm, one component becomes the
// best constant model, and the others small noise, because no other start says that most cells are zero. Elsewhere the
// same scale for all gives the model's cells the mean of the best constant model; that of gaussian, or one that is not
// above 0, the tensor's 2-norm.
void scale_initial_factors(const FitContext& context, const Loss& loss, std::span<const double> weights);

}  // namespace blco
