// Least squares across the rows of a tile, and the register-blocked Gram product.
#include "kernels/host/dense_tiles.hpp"

#include "kernels/highway_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/dense_tiles.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/host/tile_strips-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {
namespace {

// The block of A^T A with rows for eight columns of A from j on, and columns for those from k on.
template <std::uint64_t Columns>
void add_gram_block(const double* tile, std::uint64_t rows, std::uint64_t columns, std::uint64_t j, std::uint64_t k,
                    double* gram) {
  constexpr std::uint64_t width = Columns / lanes;
  Vector sums[gram_padding][width];
  for (std::uint64_t r = 0; r < gram_padding; ++r) {
    for (std::uint64_t v = 0; v < width; ++v) sums[r][v] = hn::Zero(Tag());
  }
  for (const double* row = tile; row < tile + rows * columns; row += columns) {
    Vector right[width];
    for (std::uint64_t v = 0; v < width; ++v) right[v] = hn::Load(Tag(), row + k + v * lanes);
    for (std::uint64_t r = 0; r < gram_padding; ++r) {
      const Vector left = hn::Set(Tag(), row[j + r]);
      for (std::uint64_t v = 0; v < width; ++v) sums[r][v] = hn::MulAdd(left, right[v], sums[r][v]);
    }
  }
  for (std::uint64_t r = 0; r < gram_padding; ++r) {
    for (std::uint64_t v = 0; v < width; ++v) {
      double* out = gram + (j + r) * columns + k + v * lanes;
      hn::Store(hn::Add(hn::Load(Tag(), out), sums[r][v]), Tag(), out);
    }
  }
}

}  // namespace

void solve_tile_vectors(const RowSolver& solver, const double* given, double* solution, double* sums, Ahead& ahead) {
  const auto rank = static_cast<std::uint64_t>(solver.rank());
  const double* matrix = solver.matrix().data();
  for (std::uint64_t row = 0; row < solve_tile_rows; row += strip_rows) {
    const double* b = given + row;
    double* x = solution + row;
    const auto add = [&](std::uint64_t j, const Strip& column) {
      ahead.fetch();
      add_sums(column, b + j * solve_tile_rows, sums + j * partial_sums, sums + (rank + j) * partial_sums);
    };
    if (solver.is_cholesky()) {
      substitute<true>(solver.lower().data(), rank, b, x, [&](std::uint64_t, const Strip&) { ahead.fetch(); });
      substitute<false>(matrix, rank, x, x, add);
    } else {
      multiply(
          matrix, rank, [b](std::uint64_t k) { return load(b + k * solve_tile_rows); }, x, add);
    }
  }
}

void add_gram_tile_vectors(const double* tile, std::uint64_t rows, std::uint64_t columns, double* gram) {
  // Two vectors of sums per row of a block hide the load latency; they need more than 16 registers.
  constexpr std::uint64_t wide = 2 * gram_padding;
  for (std::uint64_t j = 0; j < columns; j += gram_padding) {
    std::uint64_t k = 0;
    if constexpr (lanes == gram_padding) {
      for (; k + gram_padding <= j; k += wide) add_gram_block<wide>(tile, rows, columns, j, k, gram);
    }
    for (; k <= j; k += gram_padding) add_gram_block<gram_padding>(tile, rows, columns, j, k, gram);
  }
}

}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blco {

HWY_EXPORT(solve_tile_vectors);
HWY_EXPORT(add_gram_tile_vectors);

void solve_tile(const RowSolver& solver, const double* given, double* solution, double* sums, Ahead& ahead) {
  HWY_DYNAMIC_DISPATCH(solve_tile_vectors)(solver, given, solution, sums, ahead);
}

void add_gram_tile(const double* tile, std::uint64_t rows, std::uint64_t columns, double* gram) {
  HWY_DYNAMIC_DISPATCH(add_gram_tile_vectors)(tile, rows, columns, gram);
}

}  // namespace blco
#endif  // HWY_ONCE
