// What every backend refuses: configurations that it cannot hold, and rows that do not fit their matrix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "kernels/backend.hpp"

namespace blco {

// Refuses with `message` unless `condition` holds.
void require(bool condition, const std::string& message);

// Throws Error{invalid_argument} for a rank outside 1 to max_rank, or a mode longer than 2^32. `backend` is its name
// in the message.
void check_backend_config(const BackendConfig& config, const std::string& backend);

// How many rows of `rank` columns `numbers` numbers are. Throws Error{invalid_argument} unless they are whole rows
// that, from `first_row` on, lie within a matrix of `rows` rows.
std::uint64_t check_row_block(std::uint64_t rows, int rank, std::uint64_t first_row, std::size_t numbers);

// Throws Error{invalid_argument} unless `values` numbers are a row of `rank` columns for each of `numbers`, and these
// lie within a matrix of `rows` rows.
void check_row_list(std::uint64_t rows, int rank, std::span<const std::uint32_t> numbers, std::size_t values);

}  // namespace blco
