// Checks shared by all backends: supported configurations, and rows that fit their matrix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "kernels/backend.hpp"

namespace blco {

// Throws Error{invalid_argument} with `message` unless `condition` holds.
void require(bool condition, const std::string& message);

// Throws Error{invalid_argument} for a rank outside 1 to max_rank, wrong columns or held rows, or a mode longer than
// 2^32. `backend` names the backend in the message.
void check_backend_config(const BackendConfig& config, const std::string& backend);

// Throws Error{invalid_argument} unless rows are as OwnedRows says, of a backend with BackendConfig::rows() `rows`.
void check_owned_rows(std::span<const std::uint64_t> rows, std::span<const OwnedRows> owned);

// Throws Error{invalid_argument} unless a backend with BackendConfig::columns, and only such a one, is asked for a
// Kronecker product.
void check_product(const PassRequest& request, bool has_columns);

// Returns the number of rows in `numbers` numbers of `rank` columns. Throws Error{invalid_argument} unless they are
// whole rows that fit a matrix of `rows` rows from `first_row` on.
std::uint64_t check_row_block(std::uint64_t rows, int rank, std::uint64_t first_row, std::size_t numbers);

// Throws Error{invalid_argument} unless `problem` has what its constraint needs, for `rank` columns. `has_dual`: its
// mode is one of BackendConfig::dual_modes.
void check_row_problem(const RowProblem& problem, int rank, bool has_dual);

// Throws Error{invalid_argument} unless there is a divisor for each of `rank` columns, or none at all.
void check_divisors(std::span<const double> divisors, int rank);

// Throws Error{invalid_argument} unless there is a scale for each of `rank` columns, and a shift or none at all.
void check_scales(std::span<const double> scales, std::span<const double> shifts, int rank);

// Throws Error{invalid_argument} unless `step` has what it needs for `rank` columns.
void check_apr_step(const AprStep& step, int rank);

// Throws Error{invalid_argument} unless `step` has a centre of `rank` columns, or none.
void check_cg_step(const CgStep& step, int rank);

// Throws Error{invalid_argument} unless `step` has a rate for each of `rank` columns.
void check_adam_step(const AdamStep& step, int rank);
void check_extrapolation(const Extrapolation& step, int rank);

// Throws Error{invalid_argument} unless `values` is one row of `rank` columns for each of `numbers`, and all of these
// are rows of a matrix of `rows` rows.
void check_row_list(std::uint64_t rows, int rank, std::span<const std::uint32_t> numbers, std::size_t values);

}  // namespace blco
