// Random initial factors that seed, shape and rank alone fix, on every backend and thread count.
#pragma once

#include <cstdint>
#include <span>

namespace blco {

// Fills whole rows from `first_row` on, row-major with `rank` columns, uniform in [0, 1): element (i, r) depends on
// seed, mode, rank, i and r only.
void fill_initial_rows(std::uint64_t seed, int mode, std::uint64_t first_row, int rank, std::span<double> rows);

}  // namespace blco
