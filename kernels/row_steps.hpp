// What methods ask of all rows of a factor at once, beside row updates: see Factors::apr_measure and its neighbours.
#pragma once

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

}  // namespace blco
