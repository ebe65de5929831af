#include "engine/fit/methods/momentum.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "engine/fit/methods/factor_steps.hpp"

namespace blco {
namespace {

// In the second one what is minimised may rise: columns become normalised.
constexpr std::size_t fewest_plain_sweeps = 3;
constexpr double share_of_slow_sweeps = 0.02;
constexpr double largest_step = 0.95;
constexpr double sweeps_of_half_a_step = 3;
constexpr double sweeps_of_short_steps = 3;
constexpr double share_after_restart = 0.1;    // of the tolerance, for short steps
constexpr double sweeps_to_settle = 5;         // after a restart
constexpr std::size_t sweeps_of_no_gain = 10;  // that end a fit together, whatever restarts are among them

constexpr const char* name_of_previous = "previous factors";

bool is_free_or_nonnegative(const RowConstraint& constraint) {
  return constraint == RowConstraint() || constraint == RowConstraint{.set = RowSet::nonnegative};
}

}  // namespace

bool takes_momentum(const CpdMethod& method) {
  return traits_of(method).takes_momentum && std::ranges::all_of(constraints_of(method), is_free_or_nonnegative);
}

bool is_with_momentum(const ModelFile& checkpoint) {
  return std::ranges::find(checkpoint.state_matrices, name_of_previous) != checkpoint.state_matrices.end();
}

Momentum::Momentum(const FitContext& context, std::unique_ptr<FitMethod> method, std::size_t vector)
    : context_(context),
      method_(std::move(method)),
      vector_(static_cast<int>(vector)),
      previous_weights_(static_cast<std::size_t>(context.options.rank)) {}

void Momentum::add_needs(const TensorSummary& tensor, MethodNeeds& needs) {
  needs.vectors.push_back(vector_of_all_modes(tensor, "momentum"));
  needs.state_matrices += 1;
}

void Momentum::run_step(SweepReport& report) {
  const bool is_ahead = sweeps_ > 0;
  const double step = std::min(largest_step, sweeps_ / (sweeps_ + sweeps_of_half_a_step));
  if (is_ahead) {
    go_ahead(step);
  } else {
    keep_model();
  }
  method_->run_step(report);
  const double minimised = report.objective + method_->penalty();
  report.restarted = is_ahead && !(minimised <= minimised_);
  if (report.restarted) {
    return_to_model();
    report.objective = objective_;
    report.fit = fit_;
    sweeps_ = 0;
    return;
  }
  const double gain = minimised_ - minimised;
  const double whole_gain = context_.sum_of_squares() - minimised;
  const bool is_slow =
      report.sweep >= static_cast<int>(fewest_plain_sweeps) && gain <= share_of_slow_sweeps * whole_gain;
  if (is_ahead || is_slow) ++sweeps_;
  minimised_ = minimised;
  objective_ = report.objective;
  fit_ = report.fit;
}

// The vector has the model from here on, until the end of the step.
void Momentum::keep_model() {
  copy_all_to_vector(context_.workers.factors(), static_cast<int>(context_.tensor.order()), vector_);
  previous_weights_ = method_->weights();
}

// Columns are normalised again, as a ridge asks of those of the other modes.
void Momentum::go_ahead(double step) {
  Factors& factors = context_.workers.factors();
  const std::vector<double> last_weights = method_->weights();
  const double share = 1 / static_cast<double>(context_.tensor.order());
  std::vector<double> of_last(last_weights.size(), 1.0);
  std::vector<double> of_previous(last_weights.size(), 0.0);
  std::vector<double> weights = last_weights;
  for (std::size_t r = 0; r < weights.size(); ++r) {
    if (!(last_weights[r] > 0 && previous_weights_[r] > 0)) continue;
    const double last = (1 + step) * std::pow(last_weights[r], share);
    const double previous = step * std::pow(previous_weights_[r], share);
    // A component that shrinks so fast stays where it is: one of its columns might become zero.
    if (!(last > previous)) continue;
    of_last[r] = last;
    of_previous[r] = previous;
    weights[r] = 1;
  }
  for (int mode = 0; mode < static_cast<int>(context_.tensor.order()); ++mode) {
    const bool nonnegative = row_set(context_.options.method, static_cast<std::size_t>(mode)) == RowSet::nonnegative;
    const std::vector<double> squares = factors.extrapolate(mode, vector_, {of_last, of_previous, nonnegative});
    std::vector<double> scales(squares.size());
    for (std::size_t r = 0; r < scales.size(); ++r) {
      const double norm = of_previous[r] == 0 || squares[r] == 0 ? 1 : std::sqrt(squares[r]);
      weights[r] *= norm;
      scales[r] = 1 / norm;
    }
    factors.scale_columns(mode, scales);
  }
  previous_weights_ = last_weights;
  method_->set_weights(weights);
}

// What the step before did is lost with it.
void Momentum::return_to_model() {
  copy_all_from_vector(context_.workers.factors(), static_cast<int>(context_.tensor.order()), vector_);
  method_->set_weights(previous_weights_);
}

void Momentum::undo_step() {
  method_->undo_step();
  return_to_model();
}

// A restart leaves the fit as it is, and changes of the short steps after it may be small and grow again. Near the end
// rounding alone may lead to restarts. A model file without this state does not say how long ago the last one was.
bool Momentum::has_converged(const ModelHeader& so_far, const SweepReport* report) const {
  const std::vector<double>& fits = so_far.fit_history;
  const std::size_t sweeps = fits.size();
  const double tolerance = tolerance_of(context_.options);
  if (sweeps > sweeps_of_no_gain && std::abs(fits.back() - fits[sweeps - 1 - sweeps_of_no_gain]) < tolerance) {
    return true;
  }
  const auto change = [&](std::size_t sweep) { return std::abs(fits[sweep] - fits[sweep - 1]); };
  if (sweeps < 2 || !(change(sweeps - 1) < tolerance)) return false;
  if (sweeps <= fewest_plain_sweeps) return true;
  const bool is_undone = sweeps_ == 0 && change(sweeps - 1) == 0;
  const bool has_restarted =
      is_undone || std::adjacent_find(fits.begin() + fewest_plain_sweeps - 1, fits.end() - 1) != fits.end() - 1;
  const double enough = has_restarted ? share_after_restart * tolerance : tolerance;
  if (!is_undone && sweeps_ <= sweeps_of_short_steps && change(sweeps - 1) < enough) return true;
  const bool knows_restarts = report != nullptr || is_restored_;
  if (has_restarted && knows_restarts && sweeps_ < sweeps_to_settle) return false;
  return change(sweeps - 2) < tolerance && change(sweeps - 1) <= change(sweeps - 2);
}

MethodState Momentum::state() const {
  MethodState state{.numbers = {sweeps_, objective_}, .matrices = {name_of_previous}};
  state.numbers.insert(state.numbers.end(), previous_weights_.begin(), previous_weights_.end());
  return state;
}

void Momentum::store_rows(std::size_t, int mode, std::uint64_t first_row, std::span<double> rows) const {
  context_.workers.factors().store_vector(vector_, mode, first_row, rows);
}

void Momentum::restore(ResumedState& state) {
  state.require(2 + previous_weights_.size(), {name_of_previous});
  is_restored_ = true;
  sweeps_ = static_cast<double>(state.next_count("the number of sweeps since a restart", state.sweeps()));
  objective_ = state.next_number("the objective", 0);
  minimised_ = objective_ + method_->penalty();
  fit_ = state.last_fit();
  for (double& weight : previous_weights_) weight = state.next_number("a weight of the model before", 0);
  state.read_rows([this](std::size_t, std::size_t mode, std::uint64_t first_row, std::span<const double> rows) {
    context_.workers.factors().load_vector(vector_, static_cast<int>(mode), first_row, rows);
  });
}

}  // namespace blco
