// Least squares, HALS and ADMM, number by number.
#include "tests/kernels/reference_rows.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

namespace blco {
namespace {

// One row of A from one row of M, in place.
void solve_row(const RowSolver& solver, std::span<double> row) {
  const std::size_t rank = row.size();
  if (!solver.is_cholesky()) {
    const std::vector<double> given(row.begin(), row.end());
    for (std::size_t j = 0; j < rank; ++j) {
      row[j] = 0;
      for (std::size_t k = 0; k < rank; ++k) row[j] += solver.matrix()[j * rank + k] * given[k];
    }
    return;
  }
  for (std::size_t j = 0; j < rank; ++j) {
    for (std::size_t k = 0; k < j; ++k) row[j] -= solver.lower()[j * rank + k] * row[k];
    row[j] *= solver.lower()[j * rank + j];
  }
  for (std::size_t j = rank; j-- > 0;) {
    for (std::size_t k = j + 1; k < rank; ++k) row[j] -= solver.matrix()[j * rank + k] * row[k];
    row[j] *= solver.matrix()[j * rank + j];
  }
}

void project_on_simplex(std::span<double> row) {
  // Held, Wolfe & Crowder 1974: a threshold is subtracted from the largest entries, and the others become zero. Large
  // numbers would hide the 1, so the row is shifted first.
  const double largest = std::ranges::max(row);
  for (double& number : row) number -= largest;
  std::vector<double> sorted(row.begin(), row.end());
  std::ranges::sort(sorted, std::greater<>());
  double sum = 0;
  double threshold = 0;
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    sum += sorted[k];
    const double candidate = (sum - 1) / static_cast<double>(k + 1);
    if (sorted[k] > candidate) threshold = candidate;
  }
  for (double& number : row) number = std::max(0.0, number - threshold);
}

}  // namespace

void least_squares_row(const RowProblem& problem, std::span<const double> given, std::span<double> row) {
  std::ranges::copy(given, row.begin());
  solve_row(*problem.solver, row);
}

void hals_row(const RowProblem& problem, std::span<const double> given, std::span<double> row) {
  const std::size_t rank = row.size();
  if (std::ranges::all_of(given, [](double number) { return number == 0; })) {
    std::ranges::fill(row, 0.0);
    return;
  }
  for (int pass = 0; pass < hals_passes; ++pass) {
    for (std::size_t r = 0; r < rank; ++r) {
      const double diagonal = problem.system[r * rank + r];
      if (!(diagonal > 0)) continue;
      double step = given[r] - problem.constraint.l1 / 2;
      for (std::size_t k = 0; k < rank; ++k) step -= row[k] * problem.system[k * rank + r];
      row[r] = std::max(0.0, row[r] + step / diagonal);
    }
  }
}

void move_to_constraint(const RowConstraint& constraint, double rho, std::span<double> row) {
  if (constraint.set == RowSet::simplex) return project_on_simplex(row);
  const double threshold = constraint.l1 / (2 * rho);
  for (double& number : row) {
    number = std::copysign(std::max(0.0, std::abs(number) - threshold), number);
    if (constraint.set == RowSet::box) number = std::clamp(number, constraint.lower, constraint.upper);
    if (constraint.set == RowSet::nonnegative) number = std::max(0.0, number);
  }
}

void admm_row(const RowProblem& problem, std::span<const double> given, std::span<double> row, std::span<double> dual) {
  const std::size_t rank = row.size();
  std::vector<double> solution(rank);
  for (int step = 0; step < admm_steps; ++step) {
    for (std::size_t r = 0; r < rank; ++r) solution[r] = given[r] + problem.rho * (row[r] + dual[r]);
    solve_row(*problem.solver, solution);
    for (std::size_t r = 0; r < rank; ++r) row[r] = solution[r] - dual[r];
    move_to_constraint(problem.constraint, problem.rho, row);
    for (std::size_t r = 0; r < rank; ++r) dual[r] += row[r] - solution[r];
  }
}

static double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// The steepest descent, without what a bound holds.
static std::vector<double> free_residual(const CgStep& step, const CgRow& row) {
  std::vector<double> free(row.residual.begin(), row.residual.end());
  for (std::size_t r = 0; r < free.size(); ++r) {
    if (step.nonnegative && row.a[r] <= 0 && free[r] <= 0) free[r] = 0;
  }
  return free;
}

void begin_row(const CgStep& step, const CgRow& row) {
  std::ranges::copy(row.direction, row.a.begin());
  for (std::size_t r = 0; r < row.a.size(); ++r) row.residual[r] = -row.output[r] - step.ridge * row.a[r];
  for (std::size_t r = 0; r < step.centre.size(); ++r) row.residual[r] += step.ridge * step.centre[r];
  std::ranges::copy(free_residual(step, row), row.direction.begin());
}

void step_row(const CgStep& step, const CgRow& row) {
  std::vector<double> product(row.output.begin(), row.output.end());
  for (std::size_t r = 0; r < product.size(); ++r) product[r] += step.ridge * row.direction[r];
  const double before = dot(row.residual, row.direction);
  const double curvature = dot(row.direction, product);
  const double lengths = std::sqrt(dot(row.direction, row.direction) * dot(product, product));
  if (!(before > 0 && curvature > step.least_cosine * lengths)) return;
  double alpha = before / curvature;
  for (std::size_t r = 0; r < product.size(); ++r) {
    if (step.nonnegative && row.direction[r] < 0) alpha = std::min(alpha, -row.a[r] / row.direction[r]);
  }
  const bool is_cut = alpha < before / curvature;
  for (std::size_t r = 0; r < product.size(); ++r) {
    const double moved = alpha * row.direction[r];
    row.a[r] += moved;
    row.residual[r] -= alpha * product[r];
    if (step.nonnegative && row.a[r] <= 1e-15 * std::abs(moved)) row.a[r] = 0;
  }
  const std::vector<double> free = free_residual(step, row);
  const double after = dot(free, free);
  const bool is_solved = after <= step.solved * step.solved * before;
  for (std::size_t r = 0; r < product.size(); ++r) {
    const bool stays = is_solved || (step.nonnegative && row.a[r] <= 0 && row.residual[r] <= 0);
    row.direction[r] = stays ? 0 : row.residual[r] + (is_cut ? 0 : after / before) * row.direction[r];
    if (is_solved) row.residual[r] = 0;
  }
}

std::vector<std::int64_t> places_of(const BackendConfig& config, int mode) {
  std::vector<std::int64_t> places;
  std::int64_t held = 0;
  for (std::uint64_t row = 0; row < config.layout.mode(mode).length; ++row) {
    const bool is_held = config.holds_all(mode) || config.held[static_cast<std::size_t>(mode)]->holds(row);
    places.push_back(is_held ? held++ : -1);
  }
  return places;
}

}  // namespace blco
