// What both methods of generalised CP share.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/fit/methods/fit_method.hpp"

namespace blco {

bool lists_all_cells(const TensorSummary& tensor);
// Throws Error{invalid_argument} for a parameter, a constraint or an initial model that does not go with the loss.
void check_loss(const CpdOptions& options);
// See MethodEntry.
ConstantModel check_gcp_entries(const Tensor& tensor, const CpdOptions& options, int value_exponent,
                                ProgressMeter& meter);
// Throws Error{invalid_argument} for negative weights, or factors, of a resumed model, unless the loss takes them.
void check_gcp_signs(const FitContext& context, std::span<const double> weights);
// Five sweeps of another method, by which random factors begin. Leaves its factors; returns its weights.
std::vector<double> start_by(const FitContext& context, const CpdMethod& method);
std::string name_in_messages(const Loss& loss);

}  // namespace blco
