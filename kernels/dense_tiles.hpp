// Vectorised inner loops of the dense steps, on small tiles of f64 that stay in the cache.
#pragma once

#include <cstdint>

#include "kernels/row_solver.hpp"

namespace blco {

// Rows that are solved together. A solve tile is column-major: element (row i, column j) at [j * solve_tile_rows + i].
inline constexpr std::uint64_t solve_tile_rows = 32;
// A Gram tile's rows are padded with zeros to a multiple of this.
inline constexpr std::uint64_t gram_padding = 8;

// solution V = given for one tile; adds the sums of squares of the solution's columns to squares[0..R), and
// <given, solution> to squares[R]. Tiles do not overlap and are aligned to cache lines.
void solve_tile(const RowSolver& solver, const double* given, double* solution, double* squares);

// Adds the lower triangle of A^T A to `gram`, both row-major with `columns` (a multiple of gram_padding) per row, where
// A is `rows` x `columns`. What it does above the diagonal is unspecified.
void add_gram_tile(const double* tile, std::uint64_t rows, std::uint64_t columns, double* gram);

}  // namespace blco
