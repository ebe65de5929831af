// The checks of a fit's options.
#pragma once

#include <blco/cpd.hpp>

namespace blco {

// Throws Error{invalid_argument} for invalid options, or an initial model that does not fit the tensor.
void check_options(const TensorSummary& tensor, const CpdOptions& options);
void check_rank(int rank);
// Of when a fit ends.
void check_end(int max_sweeps, double tolerance, double time_limit_seconds);
// The rank of these factors, one per mode of the tensor; the one of `mode`, if there is such a mode, may lack its rows.
// Throws Error{invalid_argument} for matrices of other sizes.
int check_factors(const TensorSummary& tensor, std::span<const MatrixView> factors, int mode = -1);

}  // namespace blco
