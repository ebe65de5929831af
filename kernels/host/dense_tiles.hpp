// Vectorised inner loops of the dense steps, on small tiles of f64 that stay in the cache.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/host/row_tiles.hpp"
#include "kernels/row_solver.hpp"

namespace blco {

// What solve_tile adds to: for each column of the solution eight partial sums of its squares; after those, for each
// column, eight of its products with the given one.
inline constexpr std::uint64_t partial_sums = 8;
constexpr std::uint64_t solve_sums(int rank) { return 2 * static_cast<std::uint64_t>(rank) * partial_sums; }

// Memory that is wanted soon: asked for a few lines at a time while arithmetic leaves the memory idle.
class Ahead {
 public:
  // From now on this memory; what was asked for before is not asked for again.
  void look_at(const void* begin, const void* end) {
    next_ = std::max(next_, static_cast<const char*>(begin));
    end_ = static_cast<const char*>(end);
  }
  void fetch() {
    constexpr int lines = 4;
    for (int i = 0; i < lines && next_ < end_; ++i, next_ += cache_line_bytes) __builtin_prefetch(next_);
  }

 private:
  const char* next_ = nullptr;
  const char* end_ = nullptr;
};

// solution V = given for one solve tile (row_tiles.hpp), and its sums; `ahead` is fetched from. Tiles do not overlap
// and are aligned to cache lines.
void solve_tile(const RowSolver& solver, const double* given, double* solution, double* sums, Ahead& ahead);

// Adds the lower triangle of A^T A to `gram`, both row-major with `columns` (a multiple of gram_padding) per row, where
// A is `rows` x `columns`. What it does above the diagonal is unspecified.
void add_gram_tile(const double* tile, std::uint64_t rows, std::uint64_t columns, double* gram);

}  // namespace blco
