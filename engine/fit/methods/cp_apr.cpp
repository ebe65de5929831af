// CP-APR, alternating Poisson regression by multiplicative updates: Chi & Kolda, On Tensors, Sparsity, and Nonnegative
// Factorizations, SIAM J. Matrix Anal. Appl. 2012, algorithm 3.
//
// While a mode is updated, the workers hold B = A_n Lambda as its factor, and the other factors have column sums of 1.
// Then a pass of EntryRule::ratio gives Phi = (X_(n) / max(B Pi, floor)) Pi^T, without a number per nonzero, and the
// column sums of B are the weights.
//
// Zeros that ought to grow are found by the Phi of the mode's first pass, which needs no copy of an older Phi; only if
// there are any, it has to be repeated for the changed B.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/fit/methods/fit_method.hpp"
#include "engine/fit/methods/value_check.hpp"

namespace blco {
namespace {

// A column of zeros stays as it is, and so does one whose numbers have shrunk so far that the inverse is infinite.
std::vector<double> inverses(std::vector<double> sums) {
  for (double& sum : sums) sum = sum >= std::numeric_limits<double>::min() ? 1 / sum : 1;
  return sums;
}

std::string name_in_messages() { return option_name("method", "apr"); }

// Between steps the columns of all factors but held ones have the sum 1. Where none is held, the weights are the
// components' shares of the counts.
class CpApr final : public FitMethod {
 public:
  explicit CpApr(const FitContext& context);

  static void check(const TensorSummary& tensor, const CpdOptions& options);
  static ConstantModel check_entries(const Tensor& tensor, const CpdOptions& options, int value_exponent,
                                     ProgressMeter& meter);
  static MethodNeeds needs(const TensorSummary& tensor, const CpdOptions& options);

  // Throws Error{invalid_argument} for negative factors or weights of a resumed model.
  void start(std::span<const double> weights) override;
  // Updates every mode, in order; a stop ends it after the pass in progress, with the modes so far, but no worse than
  // it began. The objective is that of the model at the end of the step, the KKT violation the largest that any mode
  // had before its update. The step has converged if no mode needed one.
  void run_step(SweepReport& report) override;
  std::optional<double> first_objective() const override { return first_objective_; }
  const std::vector<double>& weights() const override { return weights_; }

  // The number of the next pass, on which the order of sums depends.
  MethodState state() const override;
  void restore(ResumedState& state) override;

 private:
  const AprMethod& apr() const { return std::get<AprMethod>(context_.options.method); }
  double floor() const;
  bool is_held(int mode) const {
    return row_set(context_.options.method, static_cast<std::size_t>(mode)) == RowSet::held;
  }
  Factors& factors() const { return context_.workers.factors(); }
  AprStep step() const;

  void find_held_sums();
  void normalise_factors();
  void update_mode(int mode, SweepReport& report);
  void run_pass(ModeSet outputs);
  double objective(int mode);
  bool must_stop(int mode);

  FitContext context_;
  std::vector<double> weights_;
  std::vector<double> held_sums_;  // per component, the product of the held modes' column sums
  int first_ = -1;                 // mode that is not held
  int last_ = 0;
  bool is_normalised_ = false;       // as said above
  bool has_terms_of_model_ = false;  // the last pass was one of the factors as they are
  double objective_before_ = 0;      // the step in progress
  std::optional<double> first_objective_;
  double tolerance_;  // of the KKT violation
  bool has_held_;
};

CpApr::CpApr(const FitContext& context)
    : context_(context),
      weights_(static_cast<std::size_t>(context.options.rank), 1.0),
      tolerance_(tolerance_of(context.options)),
      has_held_(count_held(context.options.method) > 0) {
  for (int mode = 0; mode < static_cast<int>(context.tensor.summary().shape.size()); ++mode) {
    if (is_held(mode)) continue;
    if (first_ < 0) first_ = mode;
    last_ = mode;
  }
}

void CpApr::check(const TensorSummary&, const CpdOptions& options) {
  const auto& apr = std::get<AprMethod>(options.method);
  if (!(apr.kappa_tolerance >= 0) || !std::isfinite(apr.kappa_tolerance))
    refuse(option_name("kappa_tolerance") + " must be at least 0");
  if (!(apr.floor > 0) || !std::isfinite(apr.floor)) refuse(option_name("floor") + " must be above 0");
  if (options.initial != nullptr) check_initial_signs(*options.initial, name_in_messages());
}

ConstantModel CpApr::check_entries(const Tensor& tensor, const CpdOptions&, int value_exponent, ProgressMeter& meter) {
  return find_constant_model(
      tensor, {LossKind::poisson, 0}, value_exponent,
      name_in_messages() + " takes counts, which are at least 0; use " + option_name("method", "als"), meter);
}

MethodNeeds CpApr::needs(const TensorSummary&, const CpdOptions&) {
  return {.passes_by_mode = true, .stops_after_pass = true};
}

void CpApr::start(std::span<const double> weights) {
  if (!weights.empty()) weights_.assign(weights.begin(), weights.end());
  if (!context_.options.resume.empty()) check_resumed_signs(context_, weights, name_in_messages());
}

MethodState CpApr::state() const {
  return {.numbers = {static_cast<double>(context_.workers.next_pass())}, .matrices = {}};
}

void CpApr::restore(ResumedState& state) {
  state.require(1, {});
  context_.workers.set_next_pass(state.next_count(number_of_next_pass));
  is_normalised_ = true;
}

void CpApr::run_step(SweepReport& report) {
  const int order = static_cast<int>(context_.tensor.summary().shape.size());
  if (held_sums_.empty()) find_held_sums();
  if (!is_normalised_) normalise_factors();
  report.converged = true;
  for (int mode = 0; mode < order; ++mode) {
    if (is_held(mode)) continue;
    factors().scale_columns(mode, weights_);
    update_mode(mode, report);
    report.cut_short = report.cut_short || (mode < last_ && must_stop(mode));
    const bool is_last = mode == last_ || report.cut_short;
    if (is_last) report.objective = objective(mode);
    weights_ = factors().column_sums(mode);
    factors().scale_columns(mode, inverses(weights_));
    if (is_last) break;
  }
  report.explained = context_.constant.explained(report.objective);
}

void CpApr::find_held_sums() {
  held_sums_.assign(weights_.size(), 1.0);
  for (int mode = 0; mode < static_cast<int>(context_.tensor.summary().shape.size()); ++mode) {
    if (!is_held(mode)) continue;
    const std::vector<double> sums = factors().column_sums(mode);
    std::ranges::transform(held_sums_, sums, held_sums_.begin(), std::multiplies());
  }
}

// Not in start(), because it changes bits: a checkpoint's factors are taken as they are.
void CpApr::normalise_factors() {
  for (int mode = 0; mode < static_cast<int>(context_.tensor.summary().shape.size()); ++mode) {
    if (is_held(mode)) continue;
    const std::vector<double> sums = factors().column_sums(mode);
    for (std::size_t r = 0; r < sums.size(); ++r) weights_[r] *= sums[r];
    factors().scale_columns(mode, inverses(sums));
  }
  is_normalised_ = true;
}

double CpApr::floor() const {
  constexpr double share_of_mean = 1e-6;  // it must be small beside the rates of a sparse tensor
  const double mean = context_.constant.value;
  return mean > 0 ? std::min(apr().floor, share_of_mean * mean) : apr().floor;
}

void CpApr::run_pass(ModeSet outputs) {
  context_.workers.pass(PassRequest({.rule = EntryRule::ratio, .floor = floor()}, outputs));
  has_terms_of_model_ = true;
}

// Of the model while `mode` is updated. The sum of m over all cells is that of B, because the other factors' columns
// have the sum 1, but for held ones.
double CpApr::objective(int mode) {
  if (!has_terms_of_model_) run_pass(0);
  const std::vector<double> sums = factors().column_sums(mode);
  return std::inner_product(sums.begin(), sums.end(), held_sums_.begin(), 0.0) - context_.workers.sum_of_terms();
}

// Only kappa makes a model worse, and the updates after it better than before.
bool CpApr::must_stop(int mode) { return context_.stop() && objective(mode) <= objective_before_; }

AprStep CpApr::step() const {
  return {.weights = weights_,
          .held_sums = has_held_ ? std::span<const double>(held_sums_) : std::span<const double>(),
          .kappa = apr().kappa,
          .kappa_tolerance = apr().kappa_tolerance,
          .tolerance = tolerance_};
}

void CpApr::update_mode(int mode, SweepReport& report) {
  for (int inner = 0; inner < apr().inner; ++inner) {
    run_pass(mode_bit(mode));
    if (mode == first_ && inner == 0) objective_before_ = objective(mode);
    if (!first_objective_) first_objective_ = objective_before_;
    const AprViolation violation = factors().apr_measure(mode, step(), inner > 0);
    if (inner == 0) report.kkt_violation = std::max(report.kkt_violation, violation.largest);
    if (violation.largest < tolerance_) return;
    report.converged = false;
    if (violation.has_stuck_zeros && !context_.stop()) {
      factors().apr_free_zeros(mode, step());
      run_pass(mode_bit(mode));
    }
    factors().apr_multiply(mode, step());
    has_terms_of_model_ = false;
    report.cut_short = inner + 1 < apr().inner && must_stop(mode);
    if (report.cut_short) return;
  }
}

}  // namespace

const MethodEntry apr_method{{.name = "apr", .usual_tolerance = 1e-4, .takes_nonnegative = false},
                             CpApr::check,
                             CpApr::check_entries,
                             CpApr::needs,
                             make_of<CpApr>};

}  // namespace blco
