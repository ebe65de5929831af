// fit_cpd and plan_cpd for callers inside the library, who hold memory of their own.
#pragma once

#include <blco/cpd.hpp>
#include <cstdint>

namespace blco {

// As fit_cpd; the budget also covers `held_bytes` of the caller.
CpdModel run_fit(const Tensor& tensor, const MemoryBudget& budget, const CpdOptions& options, std::uint64_t held_bytes);
// As plan_cpd.
CpdPlan plan_fit(const Tensor& tensor, const MemoryBudget& budget, const CpdOptions& options,
                 const DeclaredGpu* declared, std::uint64_t held_bytes);

}  // namespace blco
