// Each step is one call to Eigen on a part of the matrix.
#include "kernels/stoppable_factors.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Householder>
#include <Eigen/Jacobi>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace blco {
namespace {

using Eigen::Index;

constexpr Index panel_columns = 128;
constexpr Index panel_reflectors = 64;

// A symmetric tridiagonal matrix T, and the orthogonal Q with Q T Q^T = A.
struct Tridiagonal {
  Eigen::VectorXd diagonal;
  Eigen::VectorXd beside;  // beside[i] couples i and i + 1
  Eigen::MatrixXd q;
};

// Multiplies the reflectors out from the last to the first; those before leave the first columns alone.
Eigen::MatrixXd multiply_reflectors(const Eigen::MatrixXd& reflectors, const Eigen::VectorXd& scales,
                                    const StopPoll& stop) {
  const Index n = reflectors.rows();
  Eigen::MatrixXd q = Eigen::MatrixXd::Identity(n, n);
  for (Index end = n - 1; end > 0;) {
    const Index first = std::max<Index>(0, end - panel_reflectors);
    const Index rest = n - first - 1;
    give_up_if(stop);
    const auto panel = reflectors.block(first + 1, first, rest, end - first);
    auto corner = q.bottomRightCorner(rest, rest);
    Eigen::householderSequence(panel, scales.segment(first, end - first)).applyThisOnTheLeft(corner);
    end = first;
  }
  return q;
}

Tridiagonal make_tridiagonal(const SystemMatrix& matrix, const StopPoll& stop) {
  const Index n = matrix.rows();
  Eigen::MatrixXd a = matrix.triangularView<Eigen::Lower>();
  Eigen::VectorXd scales(std::max<Index>(n - 1, 0));
  Tridiagonal result{Eigen::VectorXd(n), Eigen::VectorXd(scales.size()), {}};
  for (Index i = 0; i + 1 < n; ++i) {
    give_up_if(stop);
    const Index rest = n - i - 1;
    auto v = a.col(i).tail(rest);
    v.makeHouseholderInPlace(scales[i], result.beside[i]);
    v[0] = 1;
    auto corner = a.bottomRightCorner(rest, rest);
    Eigen::VectorXd w = corner.selfadjointView<Eigen::Lower>() * (scales[i] * v);
    w -= (0.5 * scales[i] * w.dot(v)) * v;
    corner.selfadjointView<Eigen::Lower>().rankUpdate(v, w, -1.0);
  }
  result.diagonal = a.diagonal();
  result.q = multiply_reflectors(a, scales, stop);
  return result;
}

// The eigenvalue of the last 2 x 2 block of [first, last] that is nearer to the last diagonal entry.
double wilkinson_shift(const Tridiagonal& t, Index last) {
  const double half = (t.diagonal[last - 1] - t.diagonal[last]) / 2;
  const double beside = t.beside[last - 1];
  if (beside == 0) return t.diagonal[last];
  return t.diagonal[last] - beside * (beside / (half + std::copysign(std::hypot(half, beside), half)));
}

// One implicit QR step on rows and columns [first, last].
void qr_step(Tridiagonal& t, Index first, Index last) {
  double x = t.diagonal[first] - wilkinson_shift(t, last);
  double bulge = t.beside[first];
  for (Index k = first; k < last; ++k) {
    Eigen::JacobiRotation<double> turn;
    turn.makeGivens(x, bulge);
    const double c = turn.c();
    const double s = turn.s();
    if (k > first) t.beside[k - 1] = c * t.beside[k - 1] - s * bulge;
    const double d0 = t.diagonal[k];
    const double d1 = t.diagonal[k + 1];
    const double e = t.beside[k];
    t.diagonal[k] = c * c * d0 - 2 * c * s * e + s * s * d1;
    t.diagonal[k + 1] = s * s * d0 + 2 * c * s * e + c * c * d1;
    t.beside[k] = c * s * (d0 - d1) + (c * c - s * s) * e;
    if (k + 1 < last) {
      x = t.beside[k];
      bulge = -s * t.beside[k + 1];
      t.beside[k + 1] *= c;
    }
    t.q.applyOnTheRight(k, k + 1, turn);
  }
}

// Entries of T are of the order of 1, so what couples the small ones may be larger in proportion.
bool is_negligible(const Tridiagonal& t, Index i) {
  using Limits = std::numeric_limits<double>;
  const double around = std::abs(t.diagonal[i]) + std::abs(t.diagonal[i + 1]);
  return std::abs(t.beside[i]) <= std::max(Limits::min(), Limits::epsilon() * std::sqrt(around));
}

// Steps until T is diagonal; false if that takes more steps than it ever should.
bool diagonalise(Tridiagonal& t, const StopPoll& stop) {
  constexpr Index max_steps_per_value = 60;
  Index steps = max_steps_per_value * t.diagonal.size();
  for (Index last = t.diagonal.size() - 1; last > 0;) {
    give_up_if(stop);
    if (is_negligible(t, last - 1)) {
      t.beside[--last] = 0;
      continue;
    }
    if (steps-- == 0) return false;
    Index first = last - 1;
    while (first > 0 && !is_negligible(t, first - 1)) --first;
    if (first > 0) t.beside[first - 1] = 0;
    qr_step(t, first, last);
  }
  return true;
}

}  // namespace

bool factor_lower(SystemMatrix& matrix, const StopPoll& stop) {
  const Index n = matrix.rows();
  for (Index first = 0; first < n; first += panel_columns) {
    give_up_if(stop);
    const Index columns = std::min(panel_columns, n - first);
    const Index rest = n - first - columns;
    const Eigen::LLT<SystemMatrix> square(matrix.block(first, first, columns, columns));
    if (square.info() != Eigen::Success) return false;
    matrix.block(first, first, columns, columns).triangularView<Eigen::Lower>() = square.matrixL();
    if (rest == 0) break;
    auto below = matrix.block(first + columns, first, rest, columns);
    square.matrixL().adjoint().solveInPlace<Eigen::OnTheRight>(below);
    give_up_if(stop);
    matrix.bottomRightCorner(rest, rest).selfadjointView<Eigen::Lower>().rankUpdate(below, -1.0);
  }
  return true;
}

SymmetricEigen find_eigenvectors(const SystemMatrix& matrix, const StopPoll& stop) {
  // Within [-1, 1] nothing overflows on the way.
  const SystemMatrix lower = matrix.triangularView<Eigen::Lower>();
  const double largest = lower.cwiseAbs().maxCoeff();
  const double scale = largest == 0 ? 1 : largest;
  Tridiagonal t = make_tridiagonal(lower / scale, stop);
  SymmetricEigen result;
  result.converged = diagonalise(t, stop);
  result.values = scale * t.diagonal;
  result.vectors = std::move(t.q);
  return result;
}

}  // namespace blco
