// Vectorised inner loops of the dense steps, on small f64 tiles that stay in the cache.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/backend.hpp"
#include "kernels/host/row_tiles.hpp"

namespace blco {

// Sums that solve_tile adds to: per column of the solution eight partial sums of its squares, then per column eight of
// its products with the given one.
inline constexpr std::uint64_t partial_sums = 8;
constexpr std::uint64_t solve_sums(int rank) { return 2 * static_cast<std::uint64_t>(rank) * partial_sums; }

// Prefetches memory needed soon, a few lines at a time, while arithmetic leaves the memory idle.
class Ahead {
 public:
  // Moves on to this memory; lines already prefetched are not prefetched again.
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

// Solves solution * V = given for one solve tile (row_tiles.hpp) and adds to `sums`; meanwhile prefetches from `ahead`.
// Requires: tiles do not overlap and are aligned to cache lines.
void solve_tile(const RowSolver& solver, const double* given, double* solution, double* sums, Ahead& ahead);

// HALS and ADMM, the steps of RowProblem: each turns `rows`, a tile of old rows of problem.solver's rank, into the new
// ones, adds to `sums` as solve_tile does, and meanwhile prefetches from `ahead`. Requires: tiles do not overlap and
// are aligned to cache lines; padding rows of `given` are zero, and so add nothing to products.
void hals_tile(const RowProblem& problem, const double* given, double* rows, double* sums, Ahead& ahead);
// `scratch` is one more tile. Padding rows add to the squares, which have no use where a dual is needed: see
// RowConstraint::normalises.
void admm_tile(const RowProblem& problem, const double* given, double* rows, double* dual, double* scratch,
               double* sums, Ahead& ahead);

// Adds the lower triangle of A^T A to `gram`, both row-major with `columns` (a multiple of gram_padding) per row; A is
// `rows` x `columns`. Entries above the diagonal become unspecified.
void add_gram_tile(const double* tile, std::uint64_t rows, std::uint64_t columns, double* gram);

}  // namespace blco
