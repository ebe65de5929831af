// How the dense kernels cut their work, and the scratch that this takes: plain arithmetic, for plans without CUDA too.
#pragma once

#include <algorithm>
#include <cstdint>

namespace blco::cuda {

// Rows of a factor that one block sums up at a time; partial results are added in the order of the slabs.
inline constexpr std::uint64_t most_slabs = 512;
inline constexpr std::uint64_t fewest_rows_of_slab = 64;
inline constexpr std::uint64_t most_gram_scratch = std::uint64_t{64} << 20;

struct Slabs {
  std::uint64_t count = 1;
  std::uint64_t rows = 1;  // of each but the last
};

constexpr Slabs slabs_of(std::uint64_t rows, std::uint64_t most) {
  const std::uint64_t wanted = std::clamp<std::uint64_t>(rows / fewest_rows_of_slab, 1, most);
  const std::uint64_t of_each = (rows + wanted - 1) / wanted;
  return {(rows + of_each - 1) / of_each, of_each};
}

// Of solve_rows: norms and inner product of each slab.
constexpr Slabs solve_slabs(std::uint64_t rows) { return slabs_of(rows, most_slabs); }

// Of gram: a whole matrix of each slab.
constexpr Slabs gram_slabs(std::uint64_t rows, int rank) {
  const std::uint64_t matrix = static_cast<std::uint64_t>(rank) * static_cast<std::uint64_t>(rank) * sizeof(double);
  return slabs_of(rows, std::clamp<std::uint64_t>(most_gram_scratch / matrix, 1, most_slabs));
}

constexpr std::uint64_t dense_scratch_bytes(std::uint64_t rows, int rank) {
  const auto columns = static_cast<std::uint64_t>(rank);
  const std::uint64_t sums = solve_slabs(rows).count * (columns + 1) * sizeof(double);
  const std::uint64_t grams = gram_slabs(rows, rank).count * columns * columns * sizeof(double);
  return std::max(sums, grams);
}

}  // namespace blco::cuda
