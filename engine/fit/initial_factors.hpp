// The factors that a fit starts from: random ones that seed, shape and rank alone fix, those of a model in memory, or
// those of a model file.
#pragma once

#include <blco/cpd.hpp>
#include <cstdint>
#include <span>

#include "engine/fit/original_rows.hpp"
#include "io/container/model_file.hpp"

namespace blco {

// Fills whole rows from `first_row` on, row-major with `rank` columns, uniform in [0, 1): element (i, r) depends on
// seed, mode, rank, i and r only, on every backend and thread count.
void fill_initial_rows(std::uint64_t seed, int mode, std::uint64_t first_row, int rank, std::span<double> rows);

// In blocks of rows, so that no second copy of a factor is needed. `resumed` may be null; it goes before
// options.initial, and that before the random factors of options.seed.
void load_initial_factors(const TensorSummary& tensor, const CpdOptions& options, const ModelFileReader* resumed,
                          OriginalRows& rows);

}  // namespace blco
