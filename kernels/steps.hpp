// What a device does to the rows that it holds: the steps of the methods.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "blco/row_constraint.hpp"
#include "kernels/row_solver.hpp"
#include "kernels/row_steps.hpp"

namespace blco {

// How update_rows turns an MTTKRP output M into new rows A of a factor, by the mode's system V. All of these minimise
// tr(A V A^T) - 2 <A, M>, which is |X - M|^2 up to a constant, plus the constraint's penalty, within its set.
//   least squares  A = M V^-1, which `solver` holds factored.
//   HALS           nonnegative rows: hals_passes times a_r = max(0, a_r + (m_r - l1 / 2 - sum_k a_k V_kr) / V_rr) for
//                  r in order, the exact minimum in each column (Cichocki & Phan 2009); a_r stays where V_rr is 0.
//                  Starts from the old rows times `weights`; a row of M that is zero gives a zero row. Sees V as
//                  `system`. A column that becomes zero gets norm 0 and equal entries of norm 1, so that it can come
//                  back.
//   ADMM           other constraints: admm_steps times t = (m + rho (a + u)) (V + rho I)^-1, a = prox(t - u),
//                  u = u + a - t (Huang, Sidiropoulos & Liavas 2016, algorithm 1), where prox projects on the set, for
//                  l1 after moving numbers by l1 / (2 rho) towards zero. `solver` holds V + rho I. Starts from the old
//                  rows times `weights` as a and the mode's dual as u.
struct RowProblem {
  RowProblem(const RowSolver& factored) : solver(&factored) {}  // NOLINT(google-explicit-constructor)

  const RowSolver* solver;
  std::span<const double> system = {};   // V, row-major R x R
  std::span<const double> weights = {};  // R; empty: all 1
  RowConstraint constraint = {};
  double rho = 0;  // ADMM only, > 0
};

// Steps of one update: more of them gain little, since V changes with the next mode anyway.
inline constexpr int hals_passes = 2;
inline constexpr int admm_steps = 10;

// Result of update_rows for the updated mode.
struct RowUpdate {
  // R: 2-norm of each column before normalisation. Where the constraint forbids normalisation, all 1.
  std::vector<double> norms;
  double inner = 0;  // <MTTKRP output, new rows before normalisation> = <X, model>
};

// Rows of a mode, from `begin` to before `end`, of which there may be none.
struct OwnedRows {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t count() const { return end - begin; }

  friend bool operator==(const OwnedRows&, const OwnedRows&) = default;
};

// What solve_rows returns, sums over owned rows: those of several owners add up.
struct SolvedRows {
  // R: of the solution's columns. Where the constraint forbids normalisation, of no use.
  std::vector<double> squares;
  double inner = 0;  // <MTTKRP output, solution>
};

// An entry of a column of so many equal entries whose 2-norm is 1.
inline double equal_entry(std::uint64_t rows) { return std::sqrt(1.0 / static_cast<double>(rows)); }

// Rows have the numbers of Rows; I_n is the length of the mode, however many of its rows are held. Steps change owned
// rows, and only these, unless they say that they change all rows. Sums, Grams too, are over owned rows. Calls come
// from one thread, the same as of Rows and Passes.
class Steps {
 public:
  virtual ~Steps() = default;

  // Before the first update: from now on this backend owns these rows of each mode. Before, it owns all.
  virtual void own(std::vector<OwnedRows> rows) = 0;

  // factor_n = the solution of `problem` for output_n; then normalises its columns by their 2-norm (a zero column
  // stays) where the constraint allows it, and updates its Gram. The order of sums depends on neither threads nor
  // budgets. After Error{cancelled} only restore_factor and what follows it are legal.
  RowUpdate update_rows(int mode, const RowProblem& problem);

  // The two halves of update_rows, between which owners add up what the first one returns. It makes the solution, and
  // leaves the output undefined, and with keep_previous also the rows of the factor and its dual that are not owned.
  virtual SolvedRows solve_rows(int mode, const RowProblem& problem) = 0;
  // Right after it: divides each column of the solution by its divisor, or where that is 0, fills the column with
  // equal_entry(I_n). R divisors; none: all 1. Updates the Gram.
  virtual void scale_rows(int mode, std::span<const double> divisors) = 0;

  // Undoes a mode's last update_rows and restores the factor, and its dual, before it. At most once per update;
  // requires keep_previous, and no passes may follow.
  virtual void restore_factor(int mode) = 0;

  // A_n^T A_n of the current factor, row-major R x R.
  virtual std::span<const double> gram(int mode) = 0;

  // R: the sums of the factor's columns. Their order depends on neither threads nor budgets.
  virtual std::vector<double> column_sums(int mode) = 0;
  // Replaces each number of the factor by number * scale + shift of its column, in all rows. R of each; no shifts:
  // none.
  virtual void scale_columns(int mode, std::span<const double> scales, std::span<const double> shifts = {}) = 0;
  // Makes negative numbers of the factor 0, in all rows.
  virtual void raise_to_zero(int mode) = 0;
  // The factor becomes factor * step.of_factor - vector * step.of_vector, column by column and in all rows, and the
  // vector's rows of the mode what the factor was. Returns R: the sums of the new columns' squares, in an order that
  // depends on neither threads nor budgets.
  virtual std::vector<double> extrapolate(int mode, int vector, const Extrapolation& step) = 0;

  // The row steps of CP-APR, after a pass that filled the output of `mode`, which stays as it is; see AprStep.
  // `until_any`: only whether the largest violation reaches the tolerance, without the stuck zeros.
  virtual AprViolation apr_measure(int mode, const AprStep& step, bool until_any) = 0;
  // Adds kappa, times the weight of its component, to each stuck zero.
  virtual void apr_free_zeros(int mode, const AprStep& step) = 0;
  // B = B * Phi, entry by entry.
  virtual void apr_multiply(int mode, const AprStep& step) = 0;

  // Conjugate gradients after passes that filled the output of `mode`; see CgStep. Vector 0 has a, vector 1 the
  // residual b - H a, and the factor the direction, so that a pass can multiply it. Outputs stay as they are.
  // First, with a in the factor; the output is (H - ridge I) a - b + ridge * centre. Throws Error{invalid_argument} for
  // a centre of another length than 0 and R.
  virtual void cg_begin(int mode, const CgStep& step) = 0;
  // Then after each pass over directions; the output is H - ridge I times these.
  virtual void cg_step(int mode, const CgStep& step) = 0;
  // At the end: the factor is a again. Returns the sum of its squares, in an order that depends on neither threads nor
  // budgets.
  virtual double cg_end(int mode) = 0;

  // A step by the gradient in the output of `mode`, which stays as it is; see AdamStep. Vectors 0 and 1 have the first
  // and the second moments.
  virtual void adam_step(int mode, const AdamStep& step) = 0;
};

}  // namespace blco
