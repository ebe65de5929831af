// The initial factors of a fit: random ones (determined by seed, shape and rank), those of a model in memory, or those
// of a model file. Rows that a model in memory lacks are random.
#pragma once

#include <blco/cpd.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/fit/original_rows.hpp"
#include "io/container/model_file.hpp"

namespace blco {

// Fills whole rows from `first_row` on, row-major with `rank` columns, uniform in [0, 1). Element (i, r) depends only
// on seed, mode, rank, i and r, on every backend and with any number of threads.
void fill_initial_rows(std::uint64_t seed, int mode, std::uint64_t first_row, int rank, std::span<double> rows);

// Per column, what rows of fill_initial_rows are multiplied by to stand beside those of `factor` (row-major, `rank`
// columns): they then have the column's root mean square, and the sign of its sum.
std::vector<double> new_row_scales(std::span<const double> factor, int rank);

// Loads factors in blocks of rows, without a second copy of a factor. `resumed` (may be null) takes precedence over
// options.initial, and that over random factors of options.seed. Rows beyond those of options.initial are those of
// random factors, times new_row_scales().
void load_initial_factors(const TensorSummary& tensor, const CpdOptions& options, const ModelFileReader* resumed,
                          OriginalRows& rows);

}  // namespace blco
