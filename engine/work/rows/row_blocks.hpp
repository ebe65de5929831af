// Blocks of a factor's rows, for dense steps that a method takes on the host without a second copy of the factor.
#pragma once

#include <algorithm>
#include <cstdint>

namespace blco {

// Large enough for a device's link, small enough for a core's cache.
inline constexpr std::uint64_t row_block_bytes = std::uint64_t{1} << 20;

inline std::uint64_t rows_of_block(std::uint64_t columns) {
  return std::max<std::uint64_t>(1, row_block_bytes / (columns * sizeof(double)));
}

// Numbers of one block at most.
inline std::uint64_t numbers_of_block(std::uint64_t columns) { return rows_of_block(columns) * columns; }

// Calls visit(first row, numbers) for each block of `rows` rows, in order, until it returns false. True at the end.
template <class Visit>
bool for_each_row_block(std::uint64_t rows, std::uint64_t columns, const Visit& visit) {
  const std::uint64_t step = rows_of_block(columns);
  for (std::uint64_t first = 0; first < rows; first += step) {
    const std::uint64_t count = std::min(step, rows - first) * columns;
    if (!visit(first, static_cast<std::size_t>(count))) return false;
  }
  return true;
}

}  // namespace blco
