// HALS and ADMM on solve tiles (row_tiles.hpp): the steps of RowProblem across rows, vectorised.
#pragma once

#include "kernels/backend.hpp"
#include "kernels/host/dense_tiles.hpp"

namespace blco {

// Each turns `rows`, a tile of old rows of problem.solver's rank, into the new ones, adds to `sums` as solve_tile does,
// and meanwhile prefetches from `ahead`. Requires: tiles do not overlap and are aligned to cache lines; padding rows of
// `given` are zero, and so add nothing to products.
void hals_tile(const RowProblem& problem, const double* given, double* rows, double* sums, Ahead& ahead);
// `scratch` is one more tile. Padding rows add to the squares, which have no use where a dual is needed: see
// RowConstraint::normalises.
void admm_tile(const RowProblem& problem, const double* given, double* rows, double* dual, double* scratch,
               double* sums, Ahead& ahead);

}  // namespace blco
