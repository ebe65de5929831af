// Row updates, steps of conjugate gradients and places of held rows, as they are defined, one row at a time: the oracle
// of every backend's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/backend.hpp"

namespace blco {

// Each takes `given`, a row of the MTTKRP's output, and puts the new row into `row`; see RowProblem. The last two start
// from the old row, unnormalised, in `row`.
void least_squares_row(const RowProblem& problem, std::span<const double> given, std::span<double> row);
void hals_row(const RowProblem& problem, std::span<const double> given, std::span<double> row);
void admm_row(const RowProblem& problem, std::span<const double> given, std::span<double> row, std::span<double> dual);

// A row of a mode in conjugate gradients: of the output, the direction (at first a), a and the residual; see CgStep.
struct CgRow {
  std::span<const double> output;
  std::span<double> direction;
  std::span<double> a;
  std::span<double> residual;
};
void begin_row(const CgStep& step, const CgRow& row);
void step_row(const CgStep& step, const CgRow& row);

// The place of each row of a mode among held rows, or -1 for others.
std::vector<std::int64_t> places_of(const BackendConfig& config, int mode);

// The closest row that satisfies the constraint, after moving numbers by l1 / (2 rho) towards zero.
void move_to_constraint(const RowConstraint& constraint, double rho, std::span<double> row);

}  // namespace blco
