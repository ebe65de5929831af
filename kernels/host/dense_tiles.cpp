// Triangular solves across the rows of a tile, and the register-blocked Gram product.
#include "kernels/host/dense_tiles.hpp"

#include "kernels/highway_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/dense_tiles.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<double, 8>;
using Vector = hn::Vec<Tag>;
constexpr std::uint64_t lanes = hn::MaxLanes(Tag());

// Four vectors of rows, two columns at a time: eight independent chains hide the latency of the additions.
constexpr std::uint64_t strip_vectors = solve_tile_rows / lanes < 4 ? solve_tile_rows / lanes : 4;
constexpr std::uint64_t strip_rows = strip_vectors * lanes;

// The rows of one strip in one column.
struct Strip {
  Vector part[strip_vectors];
};

HWY_INLINE Strip load(const double* from) {
  Strip strip;
  for (std::uint64_t v = 0; v < strip_vectors; ++v) strip.part[v] = hn::Load(Tag(), from + v * lanes);
  return strip;
}

HWY_INLINE void store(const Strip& strip, double* to) {
  for (std::uint64_t v = 0; v < strip_vectors; ++v) hn::Store(strip.part[v], Tag(), to + v * lanes);
}

HWY_INLINE void subtract_product(Strip& from, double coefficient, const Strip& column) {
  const Vector factor = hn::Set(Tag(), coefficient);
  for (std::uint64_t v = 0; v < strip_vectors; ++v) {
    from.part[v] = hn::NegMulAdd(factor, column.part[v], from.part[v]);
  }
}

HWY_INLINE void scale(Strip& strip, double coefficient) {
  const Vector factor = hn::Set(Tag(), coefficient);
  for (std::uint64_t v = 0; v < strip_vectors; ++v) strip.part[v] = hn::Mul(strip.part[v], factor);
}

// Adds the squares of some rows of a column, and their products with the given ones, to eight partial sums each.
HWY_INLINE void add_sums(const Strip& solution, const double* given, double* squares, double* products) {
  constexpr std::uint64_t slots = partial_sums / lanes;
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    Vector square = hn::Load(Tag(), squares + slot * lanes);
    Vector product = hn::Load(Tag(), products + slot * lanes);
    for (std::uint64_t v = slot; v < strip_vectors; v += slots) {
      const Vector x = solution.part[v];
      square = hn::MulAdd(x, x, square);
      product = hn::MulAdd(hn::Load(Tag(), given + v * lanes), x, product);
    }
    hn::Store(square, Tag(), squares + slot * lanes);
    hn::Store(product, Tag(), products + slot * lanes);
  }
}

// Substitution over the columns of a strip: x_j = (b_j - sum_k c_jk x_k) / L_jj, over the solved columns k.
// `ascending`: L y = b, with the rows of L; else L^T x = b, with the rows of L^T. Calls done(j, x_j) for each column.
template <bool Ascending, class Done>
HWY_INLINE void substitute(const double* coefficients, std::uint64_t rank, const double* b, double* x,
                           const Done& done) {
  const auto column_of = [rank](std::uint64_t step) { return Ascending ? step : rank - 1 - step; };
  for (std::uint64_t step = 0; step < rank; step += 2) {
    const bool pair = step + 1 < rank;
    const std::uint64_t j0 = column_of(step);
    const std::uint64_t j1 = pair ? column_of(step + 1) : j0;
    const double* c0 = coefficients + j0 * rank;
    const double* c1 = coefficients + j1 * rank;
    Strip x0 = load(b + j0 * solve_tile_rows);
    Strip x1 = load(b + j1 * solve_tile_rows);
    for (std::uint64_t solved = 0; solved < step; ++solved) {
      const std::uint64_t k = column_of(solved);
      const Strip xk = load(x + k * solve_tile_rows);
      subtract_product(x0, c0[k], xk);
      subtract_product(x1, c1[k], xk);
    }
    scale(x0, c0[j0]);
    store(x0, x + j0 * solve_tile_rows);
    done(j0, x0);
    if (!pair) continue;
    subtract_product(x1, c1[j0], x0);
    scale(x1, c1[j1]);
    store(x1, x + j1 * solve_tile_rows);
    done(j1, x1);
  }
}

// x = P m, with the pseudo-inverse P.
template <class Done>
HWY_INLINE void multiply(const double* inverse, std::uint64_t rank, const double* given, double* x, const Done& done) {
  for (std::uint64_t j = 0; j < rank; ++j) {
    Strip sum{};
    for (std::uint64_t v = 0; v < strip_vectors; ++v) sum.part[v] = hn::Zero(Tag());
    for (std::uint64_t k = 0; k < rank; ++k) {
      subtract_product(sum, -inverse[j * rank + k], load(given + k * solve_tile_rows));
    }
    store(sum, x + j * solve_tile_rows);
    done(j, sum);
  }
}

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
      multiply(matrix, rank, b, x, add);
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
