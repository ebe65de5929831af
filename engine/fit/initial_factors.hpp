// What a fit starts from: random factors (determined by seed, shape and rank), leading vectors of unfoldings, the
// factors of a model in memory, whose tensor may have grown since, or those of a model file. Rows that a model in
// memory lacks are random.
#pragma once

#include <blco/cpd.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/common/progress_meter.hpp"
#include "engine/work/job.hpp"
#include "engine/work/original_rows.hpp"
#include "io/container/model_file.hpp"

namespace blco {

// Fills whole rows from `first_row` on, row-major with `rank` columns. Element (i, r) depends only on seed, mode, rank,
// start, i and r, on every backend and with any number of threads. Start::automatic is uniform.
void fill_initial_rows(std::uint64_t seed, int mode, std::uint64_t first_row, int rank, std::span<double> rows,
                       Start start = Start::uniform);

// Per column, what rows of fill_initial_rows are multiplied by to stand beside those of `factor` (row-major, `rank`
// columns): they then have the column's root mean square, and the sign of its sum.
std::vector<double> new_row_scales(std::span<const double> factor, int rank);

// Loads factors in blocks of rows, without a second copy of a factor. `resumed` (may be null) takes precedence over
// options.initial, and that over random factors of options.seed. Rows beyond those of options.initial are those of
// random factors, times new_row_scales().
void load_initial_factors(const TensorSummary& tensor, const CpdOptions& options, const ModelFileReader* resumed,
                          OriginalRows& rows);

// Whether the fit starts from leading vectors of unfoldings, which a job of its own samples before.
bool samples_start(const CpdOptions& options);

// What that job needs; the budget also covers `held` of the caller.
JobNeeds sampling_needs(const Tensor& tensor, const CpdOptions& options, const Account& held,
                        const StopPoll& stop = {});

// Runs it. Returns the factors, row-major I_n x rank, in the tensor's own indices. Throws Error as fit_cpd does.
std::vector<std::vector<double>> sample_initial_factors(const Tensor& tensor, const CpdOptions& options,
                                                        const Account& held, ProgressMeter& meter);

// Checks that the initial model has the tensor's modes, none of them longer. Throws Error{invalid_argument}.
void check_initial_shape(const TensorSummary& tensor, const ModelHeader& initial);
// Checks that all are finite; `name` says what they are, such as "factor 1". Throws Error{invalid_argument}.
void check_initial_numbers(std::span<const double> numbers, const std::string& name);
// Checks rank, shape, sizes and numbers of options.initial. Throws Error{invalid_argument}.
void check_initial_model(const TensorSummary& tensor, const CpdOptions& options);

// Where both have labels for a mode, those of the model must be the first ones of the tensor, in the same order. Reads
// the tensor's labels if both have some. Throws Error: invalid_argument naming mode and label, io, corrupt.
void check_initial_labels(const Tensor& tensor, const std::vector<Labels>& initial);

// Per mode, how many rows the tensor has beyond those of the model; empty if none.
std::vector<std::uint64_t> count_new_rows(const TensorSummary& tensor, const ModelHeader& initial);

// Per mode with a box, how many entries of the rows from which its first update starts lie outside it; empty if none.
std::vector<std::uint64_t> count_outside_box(const TensorSummary& tensor, const CpdOptions& options);

}  // namespace blco
