// What methods ask of all rows of a factor at once, beside row updates: see Steps::apr_measure and its neighbours.
// What is here of a single row, host and CUDA share.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "blco/host_device.hpp"

namespace blco {

// CP-APR while a mode is updated (Chi & Kolda, On Tensors, Sparsity, and Nonnegative Factorizations, SIAM J. Matrix
// Anal. Appl. 2012, algorithm 3): the mode's factor is B = A_n Lambda, and its finished output is Phi.
struct AprStep {
  std::span<const double> weights;  // R, the diagonal of Lambda
  // R: per component the product of the column sums of modes that are held. B counts times this, and Phi divided by it
  // is as if they were 1; where it is 0, so is Phi. Empty: all 1.
  std::span<const double> held_sums = {};
  double kappa = 0;            // added to entries of A_n that are stuck at 0
  double kappa_tolerance = 0;  // below it, an entry of A_n may be stuck
  double tolerance = 0;        // of the KKT violation
};

// How far a mode is from the optimality conditions.
struct AprViolation {
  double largest = 0;            // of |min(b, 1 - phi)|
  bool has_stuck_zeros = false;  // that have to grow, but cannot by multiplication
};

// What B is divided by to be A_n. A component without weight takes kappa as it is, so that it can come back.
BLCO_HOST_DEVICE inline double apr_scale(double weight) { return weight > 0 ? weight : 1; }

// Whether b would grow if it could, being below `least`: kappa_tolerance, times apr_scale of its weight. A violation
// within the tolerance is none.
BLCO_HOST_DEVICE inline bool is_stuck(double b, double phi, double least, double tolerance) {
  return phi > 1 + tolerance && b < least;
}

// Conjugate gradients for each row of a mode by itself: a minimises (a, H a) / 2 - (b, a), where H is the matrix of the
// row plus `ridge` times the identity, and b what its entries give plus `ridge` times the centre.
struct CgStep {
  double ridge = 0;
  std::span<const double> centre = {};  // R, the row that the ridge draws to; empty: zeros
  bool nonnegative = false;             // a >= 0: a number at 0 that would fall stays there, and no step leads below 0
  // A row with fewer entries than columns has a singular matrix, in which rounding errors lie that a step would enlarge
  // without bound. So no row takes a direction whose angle with its product has a smaller cosine than this,
  double least_cosine = 0;
  // and a row is solved, which gives it a direction of zeros, once a step makes its residual so much smaller.
  double solved = 0;
};

// At its bound, a number that would fall.
BLCO_HOST_DEVICE inline bool is_at_bound(double number, double residual) { return number <= 0 && residual <= 0; }

// See Steps::cg_begin; `row` holds a on entry, and the direction on return. `centre` is that of the step, where the
// row is, or null.
template <class Sum, class Factor>
BLCO_HOST_DEVICE inline void cg_begin_row(const CgStep& step, const double* centre, std::uint64_t columns,
                                          const Sum* output, Factor* row, double* a, double* residual) {
  for (std::uint64_t r = 0; r < columns; ++r) {
    a[r] = static_cast<double>(row[r]);
    residual[r] = -static_cast<double>(output[r]) - step.ridge * (centre == nullptr ? a[r] : a[r] - centre[r]);
    row[r] = step.nonnegative && is_at_bound(a[r], residual[r]) ? Factor{0} : static_cast<Factor>(residual[r]);
  }
}

// See Steps::cg_step.
template <class Sum, class Factor>
BLCO_HOST_DEVICE inline void cg_step_row(const CgStep& step, std::uint64_t columns, const Sum* output,
                                         Factor* direction, double* a, double* residual) {
  const auto product = [&](std::uint64_t r) {
    return static_cast<double>(output[r]) + step.ridge * static_cast<double>(direction[r]);
  };
  double before = 0;
  double curvature = 0;
  double direction_squares = 0;
  double product_squares = 0;
  for (std::uint64_t r = 0; r < columns; ++r) {
    const auto p = static_cast<double>(direction[r]);
    before += residual[r] * p;
    curvature += p * product(r);
    direction_squares += p * p;
    product_squares += product(r) * product(r);
  }
  const double least = step.least_cosine * std::sqrt(direction_squares * product_squares);
  if (!(before > 0 && curvature > least)) return;
  const double whole = before / curvature;
  double alpha = whole;
  for (std::uint64_t r = 0; r < columns && step.nonnegative; ++r) {
    const auto p = static_cast<double>(direction[r]);
    if (p < 0 && a[r] / -p < alpha) alpha = a[r] / -p;
  }
  double after = 0;
  for (std::uint64_t r = 0; r < columns; ++r) {
    const auto p = static_cast<double>(direction[r]);
    a[r] += alpha * p;
    residual[r] -= alpha * product(r);
    // Rounding must not leave the number that ends the step beside its bound.
    if (step.nonnegative && a[r] <= 1e-15 * alpha * std::abs(p)) a[r] = 0;
    if (!step.nonnegative || !is_at_bound(a[r], residual[r])) after += residual[r] * residual[r];
  }
  const bool is_solved = after <= step.solved * step.solved * before;
  const double beta = alpha < whole ? 0 : after / before;
  for (std::uint64_t r = 0; r < columns; ++r) {
    if (is_solved) residual[r] = 0;
    const bool stays = is_solved || (step.nonnegative && is_at_bound(a[r], residual[r]));
    direction[r] = stays ? Factor{0} : static_cast<Factor>(residual[r] + beta * static_cast<double>(direction[r]));
  }
}

// Adam (Kingma & Ba, Adam: A Method for Stochastic Optimization, 2015, algorithm 1) for rows whose gradient is not
// zero.
struct AdamStep {
  std::span<const double> rates;  // R
  double first_decay = 0;
  double second_decay = 0;
  double first_share = 1;  // 1 - decay^steps, by which moments of few steps are divided
  double second_share = 1;
  double epsilon = 0;        // beside the root of the second moment
  bool nonnegative = false;  // makes negative numbers 0
};

// See Steps::adam_step; `rates` are those of the step, where the row is.
template <class Sum, class Factor>
BLCO_HOST_DEVICE inline void adam_row(const AdamStep& step, const double* rates, std::uint64_t columns,
                                      const Sum* gradient, Factor* row, double* first, double* second) {
  bool is_touched = false;
  for (std::uint64_t r = 0; r < columns && !is_touched; ++r) is_touched = gradient[r] != 0;
  for (std::uint64_t r = 0; r < columns && is_touched; ++r) {
    const auto slope = static_cast<double>(gradient[r]);
    first[r] = step.first_decay * first[r] + (1 - step.first_decay) * slope;
    second[r] = step.second_decay * second[r] + (1 - step.second_decay) * slope * slope;
    const double number = static_cast<double>(row[r]) - rates[r] * (first[r] / step.first_share) /
                                                            (std::sqrt(second[r] / step.second_share) + step.epsilon);
    row[r] = step.nonnegative && number < 0 ? Factor{0} : static_cast<Factor>(number);
  }
}

// Where momentum goes on from: a point on the line through the rows of the factor and those that a vector has, column
// by column.
struct Extrapolation {
  std::span<const double> of_factor;  // R
  std::span<const double> of_vector;  // R, subtracted
  bool nonnegative = false;           // makes negative numbers 0
};

// See Steps::extrapolate; `of_factor` and `of_vector` are those of the step, where the row is.
template <class Factor>
BLCO_HOST_DEVICE inline void extrapolate_number(double of_factor, double of_vector, bool nonnegative, Factor& number,
                                                double& before) {
  const auto last = static_cast<double>(number);
  const double ahead = last * of_factor - before * of_vector;
  number = nonnegative && ahead < 0 ? Factor{0} : static_cast<Factor>(ahead);
  before = last;
}

}  // namespace blco
