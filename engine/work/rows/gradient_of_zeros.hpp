// What the sum of a loss over all zeros adds to a gradient, in closed form.
#pragma once

#include <cstdint>
#include <span>

#include "blco/executor.hpp"
#include "kernels/rows.hpp"

namespace blco {

// Of ZeroLoss::model the product of the other modes' column sums, R numbers; of ZeroLoss::square that of their Grams,
// row-major R x R.
struct OtherModes {
  std::span<const double> product;  // none: zeros add nothing
  bool is_of_squares = false;
};

// Adds it to rows of a mode's gradient from `first_row` on, row-major with R columns. `block` has room for one row or
// more.
void add_gradient_of_zeros(const OtherModes& others, int columns, const Rows& factors, int mode,
                           std::uint64_t first_row, std::span<double> block, Executor& executor,
                           std::span<double> rows);

}  // namespace blco
