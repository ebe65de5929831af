// Moves rows between a matrix and f64 tiles, vectorised: transposed for the row solves, packed for the Gram product.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/host/row_matrix.hpp"

namespace blco {

// Rows solved together. A solve tile is column-major: element (row i, column j) is at [j * solve_tile_rows + i].
inline constexpr std::uint64_t solve_tile_rows = 32;
// A Gram tile is row-major; its columns are zero-padded to a multiple of this.
inline constexpr std::uint64_t gram_padding = 8;

// Columns of a solve tile: whole vectors, and at least a padded row of either precision.
constexpr std::uint64_t solve_tile_columns(int rank) {
  constexpr std::uint64_t widest = cache_line_bytes / sizeof(float);
  return (static_cast<std::uint64_t>(rank) + widest - 1) / widest * widest;
}

constexpr std::uint64_t gram_tile_columns(int rank) {
  return (static_cast<std::uint64_t>(rank) + gram_padding - 1) / gram_padding * gram_padding;
}

// Sets bit i if row i of `count` (at most 64) has a nonzero bit. Rows are contiguous, `row_bytes` each: 4, 8, 16, 32 or
// whole cache lines.
std::uint64_t nonzero_rows(const void* rows, std::uint64_t count, std::uint64_t row_bytes);

// Moves the rows with the given numbers, at most 32, into a solve tile. Zeroes the source rows and the rest of the
// tile.
void take_rows(RowsView<double> from, std::span<const std::uint64_t> numbers, double* tile);
void take_rows(RowsView<float> from, std::span<const std::uint64_t> numbers, double* tile);

// Same, but leaves the source rows as they are.
void copy_rows(RowsView<const double> from, std::span<const std::uint64_t> numbers, double* tile);
void copy_rows(RowsView<const float> from, std::span<const std::uint64_t> numbers, double* tile);

// Writes the rows with the given numbers, padding included.
void put_rows(const double* tile, std::span<const std::uint64_t> numbers, RowsView<double> to);
void put_rows(const double* tile, std::span<const std::uint64_t> numbers, RowsView<float> to);

// Copies the rows that `mask` selects, `stride` apart, into a Gram tile without gaps; returns their number. `scale` (R
// factors, then ones up to `columns`; nullptr: all 1) first scales them in place.
std::uint64_t scale_rows(double* rows, std::uint64_t stride, std::uint64_t mask, const double* scale,
                         std::uint64_t columns, double* tile);
std::uint64_t scale_rows(float* rows, std::uint64_t stride, std::uint64_t mask, const double* scale,
                         std::uint64_t columns, double* tile);
// Same for rows that move from one matrix to another, which rounds them; the tile gets them rounded. Zeroes `from`.
std::uint64_t scale_rows(double* from, float* to, std::uint64_t stride, std::uint64_t mask, const double* scale,
                         std::uint64_t columns, double* tile);

}  // namespace blco
