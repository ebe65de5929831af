// Generalised CP: chooses how to minimise a loss, and checks its options.
#pragma once

#include <memory>

#include "engine/fit/fit_method.hpp"

namespace blco {

struct Gcp {
  static void check(const TensorSummary& tensor, const CpdOptions& options);
  static void check_entries(const Tensor& tensor, const CpdOptions& options, ProgressMeter& meter);
  static MethodNeeds needs(const TensorSummary& tensor, const CpdOptions& options);
  static std::unique_ptr<FitMethod> make(const FitContext& context);
};

}  // namespace blco
