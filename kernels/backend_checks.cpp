// Checks of configurations and row blocks.
#include "kernels/backend_checks.hpp"

#include <algorithm>

#include "blco/refuse.hpp"

namespace blco {
namespace {

constexpr std::uint64_t max_rows_of_mode = std::uint64_t{1} << 32;

}  // namespace

void require(bool condition, const std::string& message) {
  if (!condition) refuse(message);
}

void check_backend_config(const BackendConfig& config, const std::string& backend) {
  require(
      config.rank >= 1 && config.rank <= max_rank,
      "rank " + std::to_string(config.rank) + " is not supported; give a rank from 1 to " + std::to_string(max_rank));
  const auto& shape = config.layout.shape();
  require(config.columns.empty() ||
              (shape.size() > 1 && config.columns.size() == shape.size() &&
               std::ranges::all_of(config.columns, [&](int of) { return of >= 1 && of <= config.rank; })),
          "numbers of columns that differ need two modes or more, and a number from 1 to the rank for each");
  require(config.orders.empty() || config.orders.size() == shape.size(), "orders are of every mode, or of none");
  require(config.held.empty() || (config.held.size() == shape.size() && config.orders.empty()),
          "held rows are of every mode, or of none, and not of chunks in the order of a mode");
  for (std::size_t n = 0; n < config.held.size(); ++n) {
    require(config.held[n] == nullptr || config.held[n]->words().size() == (shape[n] + 63) / 64 + 1,
            "held rows of mode " + std::to_string(n) + " are of a mode of another length");
  }
  for (std::size_t n = 0; n < shape.size(); ++n) {
    require(shape[n] <= max_rows_of_mode,
            "mode " + std::to_string(n) + " has length " + std::to_string(shape[n]) + ", but the " + backend +
                " backend supports at most 2^32; renumber the mode's indices in the input");
  }
}

void check_owned_rows(std::span<const std::uint64_t> rows, std::span<const OwnedRows> owned) {
  require(owned.size() == rows.size(), "owned rows are of every mode");
  for (std::size_t n = 0; n < owned.size(); ++n) {
    require(owned[n].begin <= owned[n].end && owned[n].end <= rows[n],
            "mode " + std::to_string(n) + " has " + std::to_string(rows[n]) + " rows here, but its owned rows are " +
                std::to_string(owned[n].begin) + " to " + std::to_string(owned[n].end));
  }
}

void check_product(const PassRequest& request, bool has_columns) {
  require((request.product == Product::kronecker) == has_columns,
          "begin_pass: a backend has Kronecker products if its factors have numbers of columns of their own, and no "
          "other passes then");
}

void check_row_list(std::uint64_t rows, int rank, std::span<const std::uint32_t> numbers, std::size_t values) {
  require(values == numbers.size() * static_cast<std::size_t>(rank) &&
              std::ranges::all_of(numbers, [rows](std::uint32_t number) { return number < rows; }),
          "a list of rows does not fit a matrix of " + std::to_string(rows) + " x " + std::to_string(rank));
}

std::uint64_t check_row_block(std::uint64_t rows, int rank, std::uint64_t first_row, std::size_t numbers) {
  const auto columns = static_cast<std::uint64_t>(rank);
  const std::uint64_t count = numbers / columns;
  require(count * columns == numbers && first_row <= rows && count <= rows - first_row,
          std::to_string(numbers) + " numbers from row " + std::to_string(first_row) + " on do not fit a matrix of " +
              std::to_string(rows) + " x " + std::to_string(rank));
  return count;
}

void check_row_problem(const RowProblem& problem, int rank, bool has_dual) {
  const auto columns = static_cast<std::size_t>(rank);
  const RowConstraint& constraint = problem.constraint;
  require(problem.solver->rank() == rank, "update_rows: the solver has another rank than the factors");
  require(problem.weights.empty() || problem.weights.size() == columns, "update_rows: one weight per column is needed");
  if (constraint.needs_dual()) {
    require(has_dual, "update_rows: this constraint needs a dual; name its mode in dual_modes");
    require(problem.rho > 0, "update_rows: rho is not positive");
  } else if (!constraint.is_least_squares()) {
    require(problem.system.size() == columns * columns, "update_rows: this constraint needs the system itself");
  }
}

void check_divisors(std::span<const double> divisors, int rank) {
  require(divisors.empty() || divisors.size() == static_cast<std::size_t>(rank),
          "scale_rows: one divisor per column is needed, or none");
}

void check_scales(std::span<const double> scales, std::span<const double> shifts, int rank) {
  const auto columns = static_cast<std::size_t>(rank);
  require(scales.size() == columns && (shifts.empty() || shifts.size() == columns),
          "scale_columns: one scale per column is needed, and one shift or none");
}

void check_apr_step(const AprStep& step, int rank) {
  const auto columns = static_cast<std::size_t>(rank);
  require(step.weights.size() == columns && (step.held_sums.empty() || step.held_sums.size() == columns),
          "a step of apr: one weight per column is needed, and one sum of held modes or none");
}

void check_cg_step(const CgStep& step, int rank) {
  require(step.centre.empty() || step.centre.size() == static_cast<std::size_t>(rank),
          "conjugate gradients: one number of the centre per column is needed, or none");
}

void check_adam_step(const AdamStep& step, int rank) {
  require(step.rates.size() == static_cast<std::size_t>(rank), "a step of adam: one rate per column is needed");
}

void check_extrapolation(const Extrapolation& step, int rank) {
  const auto columns = static_cast<std::size_t>(rank);
  require(step.of_factor.size() == columns && step.of_vector.size() == columns,
          "extrapolate: one number of the factor and one of the vector per column is needed");
}

}  // namespace blco
