// How the dense kernels cut their work, and the scratch they need: plain arithmetic, so that plans work without CUDA.
#pragma once

#include <algorithm>
#include <cstdint>

namespace blco::cuda {

// A slab: the rows that one block sums. Slabs are added in order, so that sums depend on the sizes alone. The number of
// slabs never falls as rows grow, so scratch for the longest mode serves every mode.
struct Slabs {
  std::uint64_t count = 1;
  std::uint64_t rows = 1;  // of each slab; the last ones may have fewer, or none
};

constexpr Slabs slabs_of(std::uint64_t rows, std::uint64_t min_rows, std::uint64_t max_count) {
  const std::uint64_t count = std::clamp<std::uint64_t>(rows / min_rows, 1, max_count);
  return {count, (rows + count - 1) / count};
}

// About four blocks per multiprocessor of a large device.
inline constexpr std::uint64_t max_slabs = 512;
inline constexpr std::uint64_t max_gram_partial_bytes = std::uint64_t{64} << 20;

// Slabs of solve_rows. A row costs rank^2, so slabs of long rows may be short.
constexpr Slabs solve_slabs(std::uint64_t rows, int rank) {
  constexpr std::uint64_t min_numbers = 2048;
  constexpr std::uint64_t min_rows = 4;
  constexpr std::uint64_t enough_rows = 128;
  return slabs_of(rows, std::clamp(min_numbers / static_cast<std::uint64_t>(rank), min_rows, enough_rows), max_slabs);
}

// Slabs of gram; each produces a whole matrix.
constexpr Slabs gram_slabs(std::uint64_t rows, int rank) {
  constexpr std::uint64_t min_rows = 64;
  const std::uint64_t matrix = static_cast<std::uint64_t>(rank) * static_cast<std::uint64_t>(rank) * sizeof(double);
  return slabs_of(rows, min_rows, std::clamp<std::uint64_t>(max_gram_partial_bytes / matrix, 1, max_slabs));
}

// Columns of a row in solve_rows, with padding: the registers of 1, 2, 4 or 8 lanes hold a short row.
inline constexpr int numbers_of_lane = 16;
inline constexpr int max_lanes_of_short_row = 8;
inline constexpr int panel_columns = 4;
constexpr int solve_columns(int rank) {
  for (int lanes = 1; lanes <= max_lanes_of_short_row; lanes *= 2) {
    if (rank <= lanes * numbers_of_lane) return lanes * numbers_of_lane;
  }
  return (rank + panel_columns - 1) / panel_columns * panel_columns;
}

constexpr std::uint64_t dense_scratch_bytes(std::uint64_t rows, int rank) {
  const auto entries = static_cast<std::uint64_t>(rank);
  const auto padded = static_cast<std::uint64_t>(solve_columns(rank));
  const std::uint64_t solve = padded * padded + solve_slabs(rows, rank).count * (entries + 1);
  const std::uint64_t gram = gram_slabs(rows, rank).count * entries * entries;
  return std::max(solve, gram) * sizeof(double);
}

}  // namespace blco::cuda
