// The rule of a loss pass, applied to some nonzeros.
#pragma once

#include <cstddef>

#include "kernels/pass_request.hpp"

namespace blco {

// Nonzeros of a call at most.
inline constexpr std::size_t most_entries = 64;

// Writes the scaled weights of `count` nonzeros, and returns the sum of their scaled terms. `values`: nullptr if all
// are 1. The numbers depend on the arguments alone.
double entry_terms(const EntryFunction& function, const double* values, const double* models, std::size_t count,
                   double* weights);

}  // namespace blco
