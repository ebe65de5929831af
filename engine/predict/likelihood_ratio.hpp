// The likelihood ratio of one entry under a loss: how much worse the model is than one that fits the entry.
#pragma once

#include "blco/loss.hpp"

namespace blco {

// As <blco/predict.hpp> says; at least 0, and infinite where the loss takes no such m, or m is not finite. NaN for a
// zero that the loss does not take. Requires: takes_entry(loss, x).
double likelihood_ratio(const Loss& loss, double x, double m);

}  // namespace blco
