#include "engine/work/step_order.hpp"

#include "kernels/row_solver.hpp"

namespace blco {
namespace {

std::vector<double> solve_rows(Factors& factors, const StepOrder& order, std::span<const double> system,
                               std::span<const double> weights) {
  const auto columns = static_cast<std::size_t>(order.columns);
  const double rho = order.values[0];
  const double cutoff = order.values[1];
  std::vector<double> factored(system.begin(), system.end());
  for (std::size_t r = 0; r < columns; ++r) factored[r * columns + r] += rho;
  const RowSolver solver(factored, order.columns, cutoff);
  RowProblem problem(solver);
  problem.system = system;
  problem.weights = weights;
  problem.constraint = order.constraint;
  problem.rho = rho;
  SolvedRows solved = factors.solve_rows(order.mode, problem);
  solved.squares.push_back(solved.inner);
  return solved.squares;
}

AprStep apr_step(const StepOrder& order, std::span<const double> weights, std::span<const double> held_sums) {
  return {.weights = weights,
          .held_sums = held_sums,
          .kappa = order.values[0],
          .kappa_tolerance = order.values[1],
          .tolerance = order.values[2]};
}

CgStep conjugate_step(const StepOrder& order, std::span<const double> centre) {
  return {.ridge = order.values[0],
          .centre = centre,
          .nonnegative = order.flag,
          .least_cosine = order.values[1],
          .solved = order.values[2]};
}

AdamStep moment_step(const StepOrder& order, std::span<const double> rates) {
  return {.rates = rates,
          .first_decay = order.values[0],
          .second_decay = order.values[1],
          .first_share = order.values[2],
          .second_share = order.values[3],
          .epsilon = order.values[4],
          .nonnegative = order.flag};
}

}  // namespace

std::vector<double> take_step(Factors& factors, const StepOrder& order, std::span<const double> numbers) {
  const std::span<const double> first = numbers.first(static_cast<std::size_t>(order.first_numbers));
  const std::span<const double> second = numbers.subspan(first.size());
  switch (order.kind) {
    case StepKind::solve_rows:
      return solve_rows(factors, order, first, second);
    // Returns the Gram too, which is still there.
    case StepKind::scale_rows: {
      factors.scale_rows(order.mode, first);
      const std::span<const double> gram = factors.gram(order.mode);
      return {gram.begin(), gram.end()};
    }
    case StepKind::restore_factor:
      factors.restore_factor(order.mode);
      return {};
    case StepKind::gram: {
      const std::span<const double> gram = factors.gram(order.mode);
      return {gram.begin(), gram.end()};
    }
    case StepKind::column_sums:
      return factors.column_sums(order.mode);
    case StepKind::scale_columns:
      factors.scale_columns(order.mode, first, second);
      return {};
    case StepKind::raise_to_zero:
      factors.raise_to_zero(order.mode);
      return {};
    case StepKind::extrapolate:
      return factors.extrapolate(order.mode, order.vector,
                                 {.of_factor = first, .of_vector = second, .nonnegative = order.flag});
    case StepKind::apr_measure: {
      const AprViolation found = factors.apr_measure(order.mode, apr_step(order, first, second), order.flag);
      return {found.largest, found.has_stuck_zeros ? 1.0 : 0.0};
    }
    case StepKind::apr_free_zeros:
      factors.apr_free_zeros(order.mode, apr_step(order, first, second));
      return {};
    case StepKind::apr_multiply:
      factors.apr_multiply(order.mode, apr_step(order, first, second));
      return {};
    case StepKind::cg_begin:
      factors.cg_begin(order.mode, conjugate_step(order, first));
      return {};
    case StepKind::cg_step:
      factors.cg_step(order.mode, conjugate_step(order, first));
      return {};
    case StepKind::cg_end:
      return {factors.cg_end(order.mode)};
    case StepKind::adam_step:
      factors.adam_step(order.mode, moment_step(order, first));
      return {};
    case StepKind::copy_vector:
      factors.copy_vector(order.vector, order.to_vector);
      return {};
    case StepKind::copy_to_vector:
      factors.copy_to_vector(order.mode, order.vector);
      return {};
    case StepKind::copy_from_vector:
      factors.copy_from_vector(order.mode, order.vector);
      return {};
  }
  return {};
}

}  // namespace blco
