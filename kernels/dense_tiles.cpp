// Triangular solves across the rows of a tile, and the register-blocked Gram product.
#include "kernels/dense_tiles.hpp"

#include "kernels/highway_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dense_tiles.cpp"
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

// x_j = (x_j - sum_k c_jk x_k) / L_jj over the columns k that are solved already. `ascending`: L y = x, with the rows
// of L; else L^T x = y, with the rows of L^T. `x` holds the right-hand side and then the solution.
template <bool Ascending>
void substitute(const double* coefficients, std::uint64_t rank, double* x) {
  const auto column_of = [rank](std::uint64_t step) { return Ascending ? step : rank - 1 - step; };
  for (std::uint64_t step = 0; step < rank; step += 2) {
    const bool pair = step + 1 < rank;
    const std::uint64_t j0 = column_of(step);
    const std::uint64_t j1 = pair ? column_of(step + 1) : j0;
    const double* c0 = coefficients + j0 * rank;
    const double* c1 = coefficients + j1 * rank;
    Strip x0 = load(x + j0 * solve_tile_rows);
    Strip x1 = load(x + j1 * solve_tile_rows);
    for (std::uint64_t solved = 0; solved < step; ++solved) {
      const std::uint64_t k = column_of(solved);
      const Strip xk = load(x + k * solve_tile_rows);
      subtract_product(x0, c0[k], xk);
      subtract_product(x1, c1[k], xk);
    }
    scale(x0, c0[j0]);
    store(x0, x + j0 * solve_tile_rows);
    if (!pair) continue;
    subtract_product(x1, c1[j0], x0);
    scale(x1, c1[j1]);
    store(x1, x + j1 * solve_tile_rows);
  }
}

// x = P m, with the pseudo-inverse P.
void multiply(const double* inverse, std::uint64_t rank, const double* given, double* x) {
  for (std::uint64_t j = 0; j < rank; ++j) {
    Strip sum{};
    for (std::uint64_t v = 0; v < strip_vectors; ++v) sum.part[v] = hn::Zero(Tag());
    for (std::uint64_t k = 0; k < rank; ++k) {
      subtract_product(sum, -inverse[j * rank + k], load(given + k * solve_tile_rows));
    }
    store(sum, x + j * solve_tile_rows);
  }
}

// Adds the squares of one column, and what it has in common with the given one, to eight partial sums each.
HWY_INLINE void add_sums(const double* given, const double* solution, double* squares, double* inner) {
  for (std::uint64_t i = 0; i < solve_tile_rows; i += lanes) {
    double* square = squares + i % partial_sums;
    double* product = inner + i % partial_sums;
    const Vector x = hn::Load(Tag(), solution + i);
    hn::Store(hn::MulAdd(x, x, hn::Load(Tag(), square)), Tag(), square);
    hn::Store(hn::MulAdd(hn::Load(Tag(), given + i), x, hn::Load(Tag(), product)), Tag(), product);
  }
}

// The 8 x 8 block of A^T A whose rows are columns j.. of A and whose columns are columns k.. of A.
void add_gram_block(const double* tile, std::uint64_t rows, std::uint64_t columns, std::uint64_t j, std::uint64_t k,
                    double* gram) {
  constexpr std::uint64_t width = gram_padding / lanes;
  Vector sums[gram_padding][width];
  for (auto& row : sums) {
    for (auto& sum : row) sum = hn::Zero(Tag());
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

void solve_tile_vectors(const RowSolver& solver, const double* given, double* solution, double* sums) {
  const auto rank = static_cast<std::uint64_t>(solver.rank());
  if (solver.is_cholesky()) {
    for (std::uint64_t i = 0; i < rank * solve_tile_rows; ++i) solution[i] = given[i];
  }
  for (std::uint64_t row = 0; row < solve_tile_rows; row += strip_rows) {
    if (solver.is_cholesky()) {
      substitute<true>(solver.lower().data(), rank, solution + row);
      substitute<false>(solver.matrix().data(), rank, solution + row);
    } else {
      multiply(solver.matrix().data(), rank, given + row, solution + row);
    }
  }
  for (std::uint64_t j = 0; j < rank; ++j) {
    add_sums(given + j * solve_tile_rows, solution + j * solve_tile_rows, sums + j * partial_sums,
             sums + rank * partial_sums);
  }
}

void add_gram_tile_vectors(const double* tile, std::uint64_t rows, std::uint64_t columns, double* gram) {
  for (std::uint64_t j = 0; j < columns; j += gram_padding) {
    for (std::uint64_t k = 0; k <= j; k += gram_padding) add_gram_block(tile, rows, columns, j, k, gram);
  }
}

}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blco {

HWY_EXPORT(solve_tile_vectors);
HWY_EXPORT(add_gram_tile_vectors);

void solve_tile(const RowSolver& solver, const double* given, double* solution, double* sums) {
  HWY_DYNAMIC_DISPATCH(solve_tile_vectors)(solver, given, solution, sums);
}

void add_gram_tile(const double* tile, std::uint64_t rows, std::uint64_t columns, double* gram) {
  HWY_DYNAMIC_DISPATCH(add_gram_tile_vectors)(tile, rows, columns, gram);
}

}  // namespace blco
#endif  // HWY_ONCE
