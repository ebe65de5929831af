// Strips of a solve tile: some rows of it, as vectors, column by column. Included once per instruction set.
#if defined(BLCO_TILE_STRIPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BLCO_TILE_STRIPS_INL
#undef BLCO_TILE_STRIPS_INL
#else
#define BLCO_TILE_STRIPS_INL
#endif

#include <hwy/highway.h>

#include "kernels/host/dense_tiles.hpp"

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

// x = P b, with the pseudo-inverse P; b(k) returns column k of the strip. Calls done(j, x_j) for each column.
template <class Given, class Done>
HWY_INLINE void multiply(const double* inverse, std::uint64_t rank, const Given& b, double* x, const Done& done) {
  for (std::uint64_t j = 0; j < rank; ++j) {
    Strip sum{};
    for (std::uint64_t v = 0; v < strip_vectors; ++v) sum.part[v] = hn::Zero(Tag());
    for (std::uint64_t k = 0; k < rank; ++k) {
      subtract_product(sum, -inverse[j * rank + k], b(k));
    }
    store(sum, x + j * solve_tile_rows);
    done(j, sum);
  }
}

}  // namespace
}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
