// The checks of a fit's options.
#pragma once

#include <blco/cpd.hpp>

namespace blco {

// Throws Error{invalid_argument} for invalid options, or an initial model that does not fit the tensor.
void check_options(const TensorSummary& tensor, const CpdOptions& options);
// Of these, rank and slots.
void check_computing(int rank, const Compute& compute);

}  // namespace blco
