// The same options under a budget.
#pragma once

#include <blco/cpd.hpp>

namespace blco {

inline CpdOptions within(const MemoryBudget& memory, CpdOptions options) {
  options.compute.memory = memory;
  return options;
}

}  // namespace blco
