// CP-APR, alternating Poisson regression by multiplicative updates: Chi & Kolda, On Tensors, Sparsity, and Nonnegative
// Factorizations, SIAM J. Matrix Anal. Appl. 2012, algorithm 3.
//
// While a mode is updated, the backend holds B = A_n Lambda as its factor, and the other factors have column sums of 1.
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
#include <span>
#include <string>
#include <vector>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "engine/fit/methods/factor_steps.hpp"
#include "engine/fit/methods/fit_method.hpp"
#include "engine/fit/methods/row_blocks.hpp"
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
  static ConstantModel check_entries(const Tensor& tensor, const CpdOptions& options, ProgressMeter& meter);
  static MethodNeeds needs(const TensorSummary& tensor, const CpdOptions& options);

  // Throws Error{invalid_argument} for negative factors or weights of a resumed model.
  void start(std::span<const double> weights) override;
  // Updates every mode, in order; a stop ends it after the pass in progress, with the modes so far, but no worse than
  // it began. The objective is that of the model at the end of the step, the KKT violation the largest that any mode
  // had before its update. The step has converged if no mode needed one.
  void run_step(SweepReport& report) override;
  const std::vector<double>& weights() const override { return weights_; }

  // The number of the next pass, on which the order of sums depends.
  MethodState state() const override;
  void restore(ResumedState& state) override;

 private:
  // How far a mode is from the optimality conditions.
  struct Violation {
    double largest = 0;            // of |min(b, 1 - phi)|
    bool has_stuck_zeros = false;  // that have to grow, but cannot by multiplication
  };

  const AprMethod& apr() const { return std::get<AprMethod>(context_.options.method); }
  double floor() const;
  std::uint64_t rows(int mode) const { return context_.tensor.summary().shape[static_cast<std::size_t>(mode)]; }
  bool is_held(int mode) const {
    return row_set(context_.options.method, static_cast<std::size_t>(mode)) == RowSet::held;
  }
  bool is_stuck(double entry, double weight, double phi) const;

  void find_held_sums();
  void normalise_factors();
  void update_mode(int mode, SweepReport& report);
  void run_pass(ModeSet outputs);
  double objective(int mode);
  bool must_stop(int mode);
  Violation measure(int mode, bool until_any);
  void free_stuck_zeros(int mode);
  void multiply(int mode);
  std::vector<double> sums_of_columns(int mode);
  template <class Visit>
  void for_each_block(int mode, const Visit& visit);
  void scale(int mode, std::span<const double> scales);

  FitContext context_;
  std::vector<double> weights_;
  std::vector<double> held_sums_;    // per component, the product of the held modes' column sums
  int last_ = 0;                     // mode that is not held
  bool is_normalised_ = false;       // as said above
  bool has_terms_of_model_ = false;  // the last pass was one of the factors as they are
  double objective_before_ = 0;      // the step in progress
  std::vector<double> block_;        // rows of the factor in work, B
  std::vector<double> phi_;          // the same rows of Phi
  double tolerance_;                 // of the KKT violation
  bool has_held_;
};

CpApr::CpApr(const FitContext& context)
    : context_(context),
      weights_(static_cast<std::size_t>(context.options.rank), 1.0),
      block_(static_cast<std::size_t>(numbers_of_block(context.options.rank))),
      phi_(block_.size()),
      tolerance_(tolerance_of(context.options)),
      has_held_(count_held(context.options.method) > 0) {
  for (int mode = 0; mode < static_cast<int>(context.tensor.summary().shape.size()); ++mode) {
    if (!is_held(mode)) last_ = mode;
  }
}

void CpApr::check(const TensorSummary&, const CpdOptions& options) {
  const auto& apr = std::get<AprMethod>(options.method);
  const auto check_number = [](double number, const std::string& name) {
    if (!(number >= 0) || !std::isfinite(number)) refuse(option_name(name) + " must be at least 0");
  };
  if (apr.inner_iterations < 1) refuse(option_name("inner_iterations") + " must be at least 1");
  check_number(apr.kappa, "kappa");
  check_number(apr.kappa_tolerance, "kappa_tolerance");
  if (!(apr.floor > 0) || !std::isfinite(apr.floor)) refuse(option_name("floor") + " must be above 0");
  if (options.initial != nullptr) check_initial_signs(*options.initial, name_in_messages());
}

ConstantModel CpApr::check_entries(const Tensor& tensor, const CpdOptions&, ProgressMeter& meter) {
  return find_constant_model(
      tensor, {LossKind::poisson, 0},
      name_in_messages() + " takes counts, which are at least 0; use " + option_name("method", "als"), meter);
}

MethodNeeds CpApr::needs(const TensorSummary&, const CpdOptions& options) {
  MethodNeeds needs{.stops_after_pass = true};
  needs.host_bytes = 2 * numbers_of_block(options.rank) * sizeof(double);
  return needs;
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
    scale(mode, weights_);
    update_mode(mode, report);
    report.cut_short = report.cut_short || (mode < last_ && must_stop(mode));
    const bool is_last = mode == last_ || report.cut_short;
    if (is_last) report.objective = objective(mode);
    weights_ = sums_of_columns(mode);
    scale(mode, inverses(weights_));
    if (is_last) break;
  }
  report.explained = context_.constant.explained(report.objective);
}

void CpApr::find_held_sums() {
  held_sums_.assign(weights_.size(), 1.0);
  for (int mode = 0; mode < static_cast<int>(context_.tensor.summary().shape.size()); ++mode) {
    if (!is_held(mode)) continue;
    const std::vector<double> sums = sums_of_columns(mode);
    std::ranges::transform(held_sums_, sums, held_sums_.begin(), std::multiplies());
  }
}

// Not in start(), because it changes bits: a checkpoint's factors are taken as they are.
void CpApr::normalise_factors() {
  for (int mode = 0; mode < static_cast<int>(context_.tensor.summary().shape.size()); ++mode) {
    if (is_held(mode)) continue;
    const std::vector<double> sums = sums_of_columns(mode);
    for (std::size_t r = 0; r < sums.size(); ++r) weights_[r] *= sums[r];
    scale(mode, inverses(sums));
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
  const std::vector<double> sums = sums_of_columns(mode);
  return std::inner_product(sums.begin(), sums.end(), held_sums_.begin(), 0.0) -
         context_.workers.factors().sum_of_terms();
}

// Only kappa makes a model worse, and the updates after it better than before.
bool CpApr::must_stop(int mode) { return context_.stop() && objective(mode) <= objective_before_; }

void CpApr::update_mode(int mode, SweepReport& report) {
  for (int inner = 0; inner < apr().inner_iterations; ++inner) {
    run_pass(mode_bit(mode));
    if (mode == 0 && inner == 0) objective_before_ = objective(mode);
    const Violation violation = measure(mode, inner > 0);
    if (inner == 0) report.kkt_violation = std::max(report.kkt_violation, violation.largest);
    if (violation.largest < tolerance_) return;
    report.converged = false;
    if (violation.has_stuck_zeros && !context_.stop()) {
      free_stuck_zeros(mode);
      run_pass(mode_bit(mode));
    }
    multiply(mode);
    report.cut_short = inner + 1 < apr().inner_iterations && must_stop(mode);
    if (report.cut_short) return;
  }
}

// A zero whose phi is above 1 would grow if it could. A violation within the tolerance is none.
bool CpApr::is_stuck(double entry, double weight, double phi) const {
  const double unweighted = weight > 0 ? entry / weight : entry;
  return unweighted < apr().kappa_tolerance && phi > 1 + tolerance_;
}

// Calls visit(first row, b, phi) with each block of rows of B and of Phi, until it returns false. Phi is that of held
// columns of the sum 1, for which B would be larger by the sums that they have.
template <class Visit>
void CpApr::for_each_block(int mode, const Visit& visit) {
  for_each_row_block(rows(mode), context_.options.rank, [&](std::uint64_t first, std::size_t numbers) {
    const std::span<double> b = std::span(block_).first(numbers);
    const std::span<double> phi = std::span(phi_).first(numbers);
    context_.workers.factors().store_factor(mode, first, b);
    context_.workers.factors().read_output(mode, first, phi);
    for (std::size_t at = 0; at < phi.size() && has_held_; ++at) {
      const double sum = held_sums_[at % held_sums_.size()];
      phi[at] = sum > 0 ? phi[at] / sum : 0;
    }
    return visit(first, b, phi);
  });
}

CpApr::Violation CpApr::measure(int mode, bool until_any) {
  Violation violation;
  for_each_block(mode, [&](std::uint64_t, std::span<const double> b, std::span<const double> phi) {
    for (std::size_t at = 0; at < b.size(); ++at) {
      const double size = b[at] * held_sums_[at % held_sums_.size()];
      violation.largest = std::max(violation.largest, std::abs(std::min(size, 1 - phi[at])));
      if (until_any) continue;
      violation.has_stuck_zeros |= apr().kappa > 0 && is_stuck(b[at], weights_[at % weights_.size()], phi[at]);
    }
    return !until_any || violation.largest < tolerance_;
  });
  return violation;
}

// Kappa is added to the entry of A_n; a component without weight gets it as it is, so that it can come back.
void CpApr::free_stuck_zeros(int mode) {
  for_each_block(mode, [&](std::uint64_t first, std::span<double> b, std::span<const double> phi) {
    for (std::size_t at = 0; at < b.size(); ++at) {
      const double weight = weights_[at % weights_.size()];
      if (is_stuck(b[at], weight, phi[at])) b[at] += apr().kappa * (weight > 0 ? weight : 1.0);
    }
    context_.workers.factors().load_factor(mode, first, b);
    return true;
  });
}

void CpApr::multiply(int mode) {
  for_each_block(mode, [&](std::uint64_t first, std::span<double> b, std::span<const double> phi) {
    for (std::size_t at = 0; at < b.size(); ++at) b[at] *= phi[at];
    context_.workers.factors().load_factor(mode, first, b);
    return true;
  });
  has_terms_of_model_ = false;
}

void CpApr::scale(int mode, std::span<const double> scales) {
  scale_columns(context_.workers.factors(), mode, rows(mode), scales, block_);
}

std::vector<double> CpApr::sums_of_columns(int mode) {
  return column_sums(context_.workers.factors(), mode, rows(mode), context_.options.rank, block_);
}

}  // namespace

const MethodEntry apr_method{{.name = "apr", .usual_tolerance = 1e-4, .takes_nonnegative = false},
                             CpApr::check,
                             CpApr::check_entries,
                             CpApr::needs,
                             make_of<CpApr>};

}  // namespace blco
