// The two halves of a row update by dense work alone, put together.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cuda/dense.hpp"

namespace blco::testing {

template <class Sum, class Factor>
RowUpdate update_rows(cuda::DenseWork& work, Sum* output, std::uint64_t rows, const RowProblem& problem,
                      const cuda::OldDeviceRows<Factor>& old, Factor* factor, std::vector<double>& gram) {
  const SolvedRows solved = work.solve_rows<Sum, Factor>(output, rows, problem, old, factor, gram);
  RowUpdate update{std::vector<double>(solved.squares.size(), 1.0), solved.inner};
  std::vector<double> divisors;
  for (std::size_t r = 0; r < solved.squares.size() && problem.constraint.normalises(); ++r) {
    update.norms[r] = std::sqrt(solved.squares[r]);
    const bool stays = update.norms[r] == 0 && problem.constraint.set != RowSet::nonnegative;
    divisors.push_back(stays ? 1 : update.norms[r]);
  }
  work.scale_rows<Sum, Factor>(output, rows, divisors, equal_entry(rows), factor, gram);
  return update;
}

}  // namespace blco::testing
