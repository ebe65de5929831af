// The row kernels of a loss pass: the model's values at decoded nonzeros, and the MTTKRP of all modes at once,
// vectorised along the rank.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/host/mttkrp_rows.hpp"

namespace blco {

// Writes m = sum_r prod_n A_n[i_n, r] of each nonzero of `range` to models[0 .. range.count). The factors of `task` are
// those of all modes; its output and values are not used. `readable`: how many nonzeros, from range.begin on, may be
// looked at in order to prefetch. A value does not depend on how the nonzeros are cut into calls, nor on whether they
// come as rows or as lines.
template <class Sum, class Factor>
void model_values(const RowsTask<Sum, Factor>& task, NonzeroRange range, std::size_t readable, double* models);

// Matrices have a mask for line indices each; those of factors have no `first_row`.
template <class Sum, class Factor = Sum>
struct ScatterTask {
  using SumType = Sum;
  using FactorType = Factor;

  std::array<IndexedRows<Sum>, max_order> outputs{};
  std::array<IndexedRows<const Factor>, max_order> factors{};
  int order = 0;
  const std::uint64_t* lines = nullptr;
  const double* weights = nullptr;
  std::uint64_t stride = 0;  // as in RowsTask
  bool prefetch = false;     // rows of the outputs
  std::size_t readable = 0;  // lines, as for model_values
};

// True if scatter_rows takes tensors of this order.
constexpr bool can_scatter(int order) { return order == 3 || order == 4; }

// out_n[i_n] += weight * prod_{m != n} A_m[i_m] for every mode n, of nonzeros [0, count), one after the other. The
// numbers equal those of mttkrp_rows for each mode. A nonzero's rows are loaded once for all modes, and the additions
// to the rows of one mode overlap with those of the others. Requires: can_scatter(task.order).
template <class Sum, class Factor>
void scatter_rows(const ScatterTask<Sum, Factor>& task, std::size_t count);

}  // namespace blco
