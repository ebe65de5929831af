// Generalised CP: chooses how to minimise a loss, and checks its options.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/fit/methods/fit_method.hpp"

namespace blco {

struct Gcp {
  static void check(const TensorSummary& tensor, const CpdOptions& options);
  static ConstantModel check_entries(const Tensor& tensor, const CpdOptions& options, int value_exponent,
                                     ProgressMeter& meter);
  // Throws Error{invalid_argument} for negative weights, or factors, of a resumed model, unless the loss
  // takes them.
  static void check_signs(const FitContext& context, std::span<const double> weights);
  // Five sweeps of another method, by which random factors begin. Leaves its factors; returns its weights.
  static std::vector<double> start_by(const FitContext& context, const CpdMethod& method);
  static MethodNeeds needs(const TensorSummary& tensor, const CpdOptions& options);
  static std::unique_ptr<FitMethod> make(const FitContext& context);
};

}  // namespace blco
