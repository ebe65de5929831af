// Random initial factors that seed, shape and rank alone fix, on every backend and thread count.
#pragma once

#include <cstdint>
#include <vector>

namespace blco {

// Row-major length x rank, uniform in [0, 1): element (i, r) depends on seed, mode, i and r only.
std::vector<double> initial_factor(std::uint64_t seed, int mode, std::uint64_t length, int rank);

}  // namespace blco
