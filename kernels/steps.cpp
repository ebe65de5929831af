// The row update of all backends: what the sums over the solution make of it.
#include "kernels/steps.hpp"

#include <algorithm>
#include <utility>

namespace blco {

RowUpdate Steps::update_rows(int mode, const RowProblem& problem) {
  SolvedRows solved = solve_rows(mode, problem);
  RowUpdate update{std::move(solved.squares), solved.inner};
  std::vector<double> divisors;
  if (problem.constraint.normalises()) {
    const double of_zero_column = problem.constraint.set == RowSet::nonnegative ? 0 : 1;
    for (double& norm : update.norms) {
      norm = std::sqrt(norm);
      divisors.push_back(norm > 0 ? norm : of_zero_column);
    }
  } else {
    std::ranges::fill(update.norms, 1.0);
  }
  scale_rows(mode, divisors);
  return update;
}

}  // namespace blco
