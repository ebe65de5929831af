// Whether a model can start a fit: that of a tensor which may have grown since the model was fitted.
#pragma once

#include <blco/cpd.hpp>
#include <cstdint>
#include <vector>

namespace blco {

// Checks rank, sizes and numbers of options.initial, and that no mode of the tensor is shorter than in it. Throws
// Error{invalid_argument}.
void check_initial_model(const TensorSummary& tensor, const CpdOptions& options);

// Where both have labels for a mode, those of the model must be the first ones of the tensor, in the same order. Reads
// the tensor's labels if both have some. Throws Error: invalid_argument naming mode and label, io, corrupt.
void check_initial_labels(const Tensor& tensor, const CpdModel& initial);

// Per mode, how many rows the tensor has beyond those of the model; empty if none.
std::vector<std::uint64_t> count_new_rows(const TensorSummary& tensor, const CpdModel& initial);

// Per mode with a box, how many entries of the rows from which its first update starts lie outside it; empty if none.
std::vector<std::uint64_t> count_outside_box(const CpdOptions& options);

}  // namespace blco
