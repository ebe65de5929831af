// A step over rows as rank 0 orders it from all workers: each takes it over the rows that it owns.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "blco/row_constraint.hpp"
#include "engine/work/rows/combining.hpp"
#include "kernels/backend.hpp"

namespace blco {

enum class StepKind : std::uint8_t {
  solve_rows,
  scale_rows,
  restore_factor,
  gram,
  column_sums,
  scale_columns,
  raise_to_zero,
  extrapolate,
  apr_measure,
  apr_free_zeros,
  apr_multiply,
  cg_begin,
  cg_step,
  cg_end,
  adam_step,
  copy_vector,
  copy_to_vector,
  copy_from_vector,
};

// The arguments of a function of Steps or Rows. In a message its lists of numbers follow, one after the other: there
// are at most two, and `first_numbers` is the length of the first one.
struct StepOrder {
  StepKind kind = StepKind::gram;
  int mode = 0;
  int vector = 0;
  int to_vector = 0;
  int columns = 0;  // of solve_rows
  bool flag = false;
  RowConstraint constraint = {};
  std::array<double, 5> values = {};
  std::uint64_t first_numbers = 0;
};

// How the numbers that workers return are combined; none: it has no numbers to return. Nobody waits for such an order:
// what fails in it is the answer to a later one. But whoever restores a factor must know that it is there.
inline std::optional<Combining> combining_of(StepKind kind) {
  switch (kind) {
    case StepKind::solve_rows:
    case StepKind::scale_rows:
    case StepKind::restore_factor:
    case StepKind::gram:
    case StepKind::column_sums:
    case StepKind::extrapolate:
    case StepKind::cg_end:
      return Combining::sums;
    case StepKind::apr_measure:
      return Combining::largest;
    case StepKind::scale_columns:
    case StepKind::raise_to_zero:
    case StepKind::apr_free_zeros:
    case StepKind::apr_multiply:
    case StepKind::cg_begin:
    case StepKind::cg_step:
    case StepKind::adam_step:
    case StepKind::copy_vector:
    case StepKind::copy_to_vector:
    case StepKind::copy_from_vector:
      return std::nullopt;
  }
  return Combining::sums;
}

// Takes the step over this worker's rows, and returns its numbers.
std::vector<double> take_step(Factors& factors, const StepOrder& order, std::span<const double> numbers);

}  // namespace blco
