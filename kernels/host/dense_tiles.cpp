// Row updates across the rows of a tile, and the register-blocked Gram product. A strip of rows takes all its steps
// while its columns are in the L1 cache.
#include "kernels/host/dense_tiles.hpp"

#include <limits>

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
constexpr std::uint64_t next_column = solve_tile_rows;

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
    Strip x0 = load(b + j0 * next_column);
    Strip x1 = load(b + j1 * next_column);
    for (std::uint64_t solved = 0; solved < step; ++solved) {
      const std::uint64_t k = column_of(solved);
      const Strip xk = load(x + k * next_column);
      subtract_product(x0, c0[k], xk);
      subtract_product(x1, c1[k], xk);
    }
    scale(x0, c0[j0]);
    store(x0, x + j0 * next_column);
    done(j0, x0);
    if (!pair) continue;
    subtract_product(x1, c1[j0], x0);
    scale(x1, c1[j1]);
    store(x1, x + j1 * next_column);
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
    store(sum, x + j * next_column);
    done(j, sum);
  }
}

// Calls function(vectors of the columns...), which returns the new one, for each vector of the first column.
template <class Function, class... Columns>
HWY_INLINE Strip combine(const Function& function, const Columns&... columns) {
  Strip made;
  for (std::uint64_t v = 0; v < strip_vectors; ++v) made.part[v] = function(columns.part[v]...);
  return made;
}

HWY_INLINE void multiply_by_weights(const RowProblem& problem, double* rows) {
  for (const double weight : problem.weights) {
    Strip column = load(rows);
    scale(column, weight);
    store(column, rows);
    rows += next_column;
  }
}

HWY_INLINE void add_all_sums(std::uint64_t rank, const double* given, const double* rows, double* sums) {
  for (std::uint64_t j = 0; j < rank; ++j) {
    add_sums(load(rows + j * next_column), given + j * next_column, sums + j * partial_sums,
             sums + (rank + j) * partial_sums);
  }
}

// One pass of HALS, two columns at a time: both need the same others. `system` is symmetric.
HWY_INLINE void hals_pass(const double* system, std::uint64_t rank, double half_l1, const double* given, double* x,
                          Ahead& ahead) {
  const auto minimum = [half_l1](const Strip& left, double diagonal) {
    const Vector inverse = hn::Set(Tag(), 1 / diagonal);
    const Vector penalty = hn::Set(Tag(), half_l1);
    return combine([&](Vector m) { return hn::Max(hn::Mul(hn::Sub(m, penalty), inverse), hn::Zero(Tag())); }, left);
  };
  for (std::uint64_t j0 = 0; j0 < rank; j0 += 2) {
    const bool pair = j0 + 1 < rank;
    const std::uint64_t j1 = pair ? j0 + 1 : j0;
    const double* v0 = system + j0 * rank;
    const double* v1 = system + j1 * rank;
    Strip left0 = load(given + j0 * next_column);
    Strip left1 = load(given + j1 * next_column);
    const auto subtract = [&](std::uint64_t first, std::uint64_t end) {
      for (std::uint64_t k = first; k < end; ++k) {
        const Strip xk = load(x + k * next_column);
        subtract_product(left0, v0[k], xk);
        subtract_product(left1, v1[k], xk);
      }
    };
    subtract(0, j0);
    subtract(j1 + 1, rank);
    ahead.fetch();
    if (pair) subtract_product(left0, v0[j1], load(x + j1 * next_column));
    if (v0[j0] > 0) store(minimum(left0, v0[j0]), x + j0 * next_column);
    if (!pair) continue;
    subtract_product(left1, v1[j0], load(x + j0 * next_column));
    if (v1[j1] > 0) store(minimum(left1, v1[j1]), x + j1 * next_column);
  }
}

// The closest rows with entries of 0 or more that add up to 1 (Michelot 1986): a threshold is subtracted, which grows
// with each step until no entry falls below it any more. Entries are first shifted, so that the largest is 0: large
// numbers would hide the 1.
HWY_INLINE void project_on_simplex(std::uint64_t rank, double* rows) {
  const Vector zero = hn::Zero(Tag());
  const Vector one = hn::Set(Tag(), 1.0);
  const std::uint64_t end = rank * next_column;
  Strip largest = load(rows);
  for (std::uint64_t at = next_column; at < end; at += next_column) {
    largest = combine([](Vector x, Vector y) { return hn::Max(x, y); }, largest, load(rows + at));
  }
  for (std::uint64_t at = 0; at < end; at += next_column) {
    store(combine([](Vector x, Vector y) { return hn::Sub(x, y); }, load(rows + at), largest), rows + at);
  }
  Strip threshold = combine([&](Vector) { return hn::Neg(one); }, largest);
  for (bool grows = true; grows;) {
    Strip sum = combine([&](Vector) { return hn::Neg(one); }, largest);
    Strip count = combine([&](Vector) { return zero; }, largest);
    for (std::uint64_t at = 0; at < end; at += next_column) {
      const Strip x = load(rows + at);
      for (std::uint64_t v = 0; v < strip_vectors; ++v) {
        const auto above = hn::Gt(x.part[v], threshold.part[v]);
        sum.part[v] = hn::Add(sum.part[v], hn::IfThenElseZero(above, x.part[v]));
        count.part[v] = hn::Add(count.part[v], hn::IfThenElseZero(above, one));
      }
    }
    grows = false;
    for (std::uint64_t v = 0; v < strip_vectors; ++v) {
      const Vector next = hn::Div(sum.part[v], count.part[v]);
      grows = grows || !hn::AllFalse(Tag(), hn::Gt(next, threshold.part[v]));
      threshold.part[v] = hn::Max(threshold.part[v], next);
    }
  }
  for (std::uint64_t at = 0; at < end; at += next_column) {
    store(combine([&](Vector x, Vector y) { return hn::Max(hn::Sub(x, y), zero); }, load(rows + at), threshold),
          rows + at);
  }
}

// What ADMM does to a strip, whose columns begin at these places.
struct AdmmStrip {
  const RowProblem& problem;
  std::uint64_t rank;
  const double* given;
  double* rows;
  double* dual;
  double* solution;
};

HWY_INLINE Strip right_side(const AdmmStrip& strip, std::uint64_t j) {
  const std::uint64_t at = j * next_column;
  const Vector rho = hn::Set(Tag(), strip.problem.rho);
  return combine([rho](Vector m, Vector a, Vector u) { return hn::MulAdd(rho, hn::Add(a, u), m); },
                 load(strip.given + at), load(strip.rows + at), load(strip.dual + at));
}

HWY_INLINE void solve_step(const AdmmStrip& strip, Ahead& ahead) {
  const RowSolver& solver = *strip.problem.solver;
  const auto fetch = [&ahead](std::uint64_t, const Strip&) { ahead.fetch(); };
  double* t = strip.solution;
  if (!solver.is_cholesky()) {
    return multiply(
        solver.matrix().data(), strip.rank, [&](std::uint64_t k) { return right_side(strip, k); }, t, fetch);
  }
  for (std::uint64_t j = 0; j < strip.rank; ++j) store(right_side(strip, j), t + j * next_column);
  substitute<true>(solver.lower().data(), strip.rank, t, t, fetch);
  substitute<false>(solver.matrix().data(), strip.rank, t, t, fetch);
}

// Turns t - u, in `moved`, into the closest numbers within the bounds, after the step of l1 towards zero.
HWY_INLINE Strip move_to_bounds(const RowConstraint& constraint, double rho, const Strip& moved) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const bool box = constraint.set == RowSet::box;
  const Vector step = hn::Set(Tag(), constraint.l1 / (2 * rho));
  const Vector lower = hn::Set(Tag(), box ? constraint.lower : -infinity);
  const Vector upper = hn::Set(Tag(), box ? constraint.upper : infinity);
  return combine(
      [&](Vector x) {
        const Vector size = hn::Max(hn::Sub(hn::Abs(x), step), hn::Zero(Tag()));
        return hn::Min(hn::Max(hn::CopySign(size, x), lower), upper);
      },
      moved);
}

HWY_INLINE void move_step(const AdmmStrip& strip) {
  const RowConstraint& constraint = strip.problem.constraint;
  const auto subtract = [](Vector x, Vector y) { return hn::Sub(x, y); };
  const auto moved_dual = [](Vector u, Vector a, Vector t) { return hn::Add(u, hn::Sub(a, t)); };
  const bool simplex = constraint.set == RowSet::simplex;
  for (std::uint64_t at = 0; at < strip.rank * next_column; at += next_column) {
    const Strip t = load(strip.solution + at);
    const Strip u = load(strip.dual + at);
    Strip a = combine(subtract, t, u);
    if (!simplex) {
      a = move_to_bounds(constraint, strip.problem.rho, a);
      store(combine(moved_dual, u, a, t), strip.dual + at);
    }
    store(a, strip.rows + at);
  }
  if (!simplex) return;
  project_on_simplex(strip.rank, strip.rows);
  for (std::uint64_t at = 0; at < strip.rank * next_column; at += next_column) {
    const Strip u = combine(moved_dual, load(strip.dual + at), load(strip.rows + at), load(strip.solution + at));
    store(u, strip.dual + at);
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
      add_sums(column, b + j * next_column, sums + j * partial_sums, sums + (rank + j) * partial_sums);
    };
    if (solver.is_cholesky()) {
      substitute<true>(solver.lower().data(), rank, b, x, [&](std::uint64_t, const Strip&) { ahead.fetch(); });
      substitute<false>(matrix, rank, x, x, add);
    } else {
      multiply(
          matrix, rank, [b](std::uint64_t k) { return load(b + k * next_column); }, x, add);
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

void hals_tile_vectors(const RowProblem& problem, const double* given, double* rows, double* sums, Ahead& ahead) {
  const auto rank = static_cast<std::uint64_t>(problem.solver->rank());
  for (std::uint64_t row = 0; row < solve_tile_rows; row += strip_rows) {
    multiply_by_weights(problem, rows + row);
    for (int pass = 0; pass < hals_passes; ++pass) {
      hals_pass(problem.system.data(), rank, problem.constraint.l1 / 2, given + row, rows + row, ahead);
    }
    add_all_sums(rank, given + row, rows + row, sums);
  }
}

void admm_tile_vectors(const RowProblem& problem, const double* given, double* rows, double* dual, double* scratch,
                       double* sums, Ahead& ahead) {
  const auto rank = static_cast<std::uint64_t>(problem.solver->rank());
  for (std::uint64_t row = 0; row < solve_tile_rows; row += strip_rows) {
    multiply_by_weights(problem, rows + row);
    const AdmmStrip strip{problem, rank, given + row, rows + row, dual + row, scratch + row};
    for (int step = 0; step < admm_steps; ++step) {
      solve_step(strip, ahead);
      move_step(strip);
    }
    add_all_sums(rank, given + row, rows + row, sums);
  }
}

}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blco {

HWY_EXPORT(solve_tile_vectors);
HWY_EXPORT(add_gram_tile_vectors);
HWY_EXPORT(hals_tile_vectors);
HWY_EXPORT(admm_tile_vectors);

void solve_tile(const RowSolver& solver, const double* given, double* solution, double* sums, Ahead& ahead) {
  HWY_DYNAMIC_DISPATCH(solve_tile_vectors)(solver, given, solution, sums, ahead);
}

void add_gram_tile(const double* tile, std::uint64_t rows, std::uint64_t columns, double* gram) {
  HWY_DYNAMIC_DISPATCH(add_gram_tile_vectors)(tile, rows, columns, gram);
}

void hals_tile(const RowProblem& problem, const double* given, double* rows, double* sums, Ahead& ahead) {
  HWY_DYNAMIC_DISPATCH(hals_tile_vectors)(problem, given, rows, sums, ahead);
}

void admm_tile(const RowProblem& problem, const double* given, double* rows, double* dual, double* scratch,
               double* sums, Ahead& ahead) {
  HWY_DYNAMIC_DISPATCH(admm_tile_vectors)(problem, given, rows, dual, scratch, sums, ahead);
}

}  // namespace blco
#endif  // HWY_ONCE
