// Alternating least squares, with or without constraints on the rows (see RowProblem): Kolda & Bader, Tensor
// Decompositions and Applications, SIAM Review 2009, figure 3.3.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/fit/methods/factor_steps.hpp"
#include "engine/fit/methods/fit_method.hpp"
#include "engine/fit/methods/initial_scale.hpp"
#include "engine/work/rows/row_blocks.hpp"
#include "kernels/row_solver.hpp"

namespace blco {
namespace {

constexpr int without_weights = 0;  // the vector with the factor that carries them

// Whether each mode has limits, and nothing else says how large its rows are.
bool have_limits_alone(const std::vector<RowConstraint>& constraints) {
  return !constraints.empty() && std::ranges::none_of(constraints, [](const RowConstraint& one) {
    return one.normalises() || one.is_held() || one.l1 > 0;
  });
}

class CpAls final : public FitMethod {
 public:
  // Requires: the tensor's sum of squares is > 0.
  explicit CpAls(const FitContext& context);

  static void check(const TensorSummary& tensor, const CpdOptions& options);
  static MethodNeeds needs(const TensorSummary& tensor, const CpdOptions& options);

  void start(std::span<const double> weights) override;
  // Updates every mode once, in order. The fit, 1 - |X - model| / |X|, comes from the last mode's MTTKRP (Kolda & Bader
  // 2009, section 3.4). Throws Error: invalid_argument if numbers leave the range of a double; corrupt if the residual
  // is negative by more than rounding, which happens if the stored sum of squares is not that of the tensor; cancelled.
  void run_step(SweepReport& report) override;
  // Of a start that keeps the constraints of ADMM, whose rows are near the best ones only.
  std::optional<double> first_objective() const override { return first_objective_; }
  // Requires that previous factors are kept.
  void undo_step() override;
  bool has_converged(const ModelHeader& so_far, const SweepReport* report) const override;
  const std::vector<double>& weights() const override { return weights_; }
  void set_weights(std::span<const double> weights) override { weights_.assign(weights.begin(), weights.end()); }
  // That of the ridge.
  double penalty() const override;

  // The duals of constrained modes.
  MethodState state() const override;
  void store_rows(std::size_t, int mode, std::uint64_t first_row, std::span<double> rows) const override;
  void restore(ResumedState& state) override;

 private:
  RowConstraint constraint_of(int mode) const;
  bool is_zero(int mode) const;
  static int carrier_of(const TensorSummary& tensor, const std::vector<RowConstraint>& constraints);
  // `carried`: the weights belong to another mode, and the old rows are as they are.
  RowUpdate update_rows(int mode, bool carried);
  void carry_weights();
  void put_weights_down();
  bool starts_within_constraints() const;
  void find_first_objective(int mode, bool carries);
  void take_scale();
  void fit_scale(double inner);
  double squared_residual(double inner, std::span<const double> weights, const std::string& where);
  double fit(double inner, int sweep);

  FitContext context_;
  int order_;
  int rank_;
  double norm_squared_;
  int carrier_;  // the mode that carries the weights while one is updated that keeps its scale; -1: none has to
  bool is_carrying_ = false;
  bool fits_scale_;   // no mode fits the weights: they are all alike, and their best value is known
  double scale_ = 1;  // which is that during a sweep, while the weights are 1
  std::vector<double> weights_;
  std::vector<double> weights_before_;  // as of the start of this sweep
  int updated_modes_ = 0;               // how far this sweep is, the mode included that has only begun
  std::optional<double> first_objective_;
  std::vector<int> system_ranks_;  // per mode: R, or less if the normal equations were singular
};

// A mode whose columns keep their scale fits the model's weights only if they belong to another mode meanwhile.
void CpAls::carry_weights() {
  context_.workers.factors().copy_to_vector(carrier_, without_weights);
  context_.workers.factors().scale_columns(carrier_, weights_);
  is_carrying_ = true;
}

// Gives the mode its factor back, bit for bit. Does nothing if no mode carries the weights.
void CpAls::put_weights_down() {
  if (is_carrying_) context_.workers.factors().copy_from_vector(carrier_, without_weights);
  is_carrying_ = false;
}

CpAls::CpAls(const FitContext& context)
    : context_(context),
      order_(static_cast<int>(context.tensor.summary().shape.size())),
      rank_(context.options.rank),
      norm_squared_(context.sum_of_squares()),
      carrier_(carrier_of(context.tensor.summary(), std::get<AlsMethod>(context.options.method).constraints)),
      fits_scale_(have_limits_alone(std::get<AlsMethod>(context.options.method).constraints)),
      weights_(static_cast<std::size_t>(rank_), 1.0),
      system_ranks_(static_cast<std::size_t>(order_), rank_) {}

void CpAls::check(const TensorSummary&, const CpdOptions& options) {
  const auto& constraints = std::get<AlsMethod>(options.method).constraints;
  for (std::size_t n = 0; n < constraints.size(); ++n) {
    const RowConstraint& constraint = constraints[n];
    const std::string mode = "mode " + std::to_string(n);
    if (!(constraint.l1 >= 0) || !std::isfinite(constraint.l1)) refuse(option_name("l1") + " must be at least 0");
    if (constraint.set == RowSet::box &&
        !(constraint.lower < constraint.upper && std::isfinite(constraint.lower) && std::isfinite(constraint.upper))) {
      refuse(mode + ": " + option_name("box") + " must give two numbers, the first less than the second");
    }
    if (constraint.set == RowSet::simplex && constraint.l1 > 0) {
      refuse(mode + ": " + option_name("simplex") + " and " + option_name("l1") +
             " exclude each other: the absolute values of a row on the simplex always add up to 1");
    }
  }
}

MethodNeeds CpAls::needs(const TensorSummary& tensor, const CpdOptions& options) {
  MethodNeeds needs{
      .passes_of_step = tensor.shape.size(), .loss_passes = false, .passes_by_mode = true, .undoes_steps = true};
  const auto& constraints = std::get<AlsMethod>(options.method).constraints;
  for (std::size_t n = 0; n < constraints.size(); ++n) {
    if (constraints[n].needs_dual()) needs.dual_modes |= mode_bit(static_cast<int>(n));
  }
  needs.state_matrices = needs.dual_modes != 0 ? 1 : 0;
  // Two blocks of rows, for the objective of the initial model.
  if (needs.dual_modes != 0 && options.initial != nullptr) {
    needs.host.take("blocks of rows", 2 * numbers_of_block(options.rank) * sizeof(double));
  }
  if (const int carrier = carrier_of(tensor, constraints); carrier >= 0) {
    needs.vectors.push_back(
        {.rows = tensor.shape[static_cast<std::size_t>(carrier)], .name = "columns without their weights"});
  }
  return needs;
}

// The shortest of the modes that are normalised or held, if there is one, and also one that keeps its scale; else -1.
int CpAls::carrier_of(const TensorSummary& tensor, const std::vector<RowConstraint>& constraints) {
  const auto carries = [](const RowConstraint& constraint) { return constraint.normalises() || constraint.is_held(); };
  if (std::ranges::all_of(constraints, carries)) return -1;
  int shortest = -1;
  for (std::size_t n = 0; n < constraints.size(); ++n) {
    if (!carries(constraints[n])) continue;
    if (shortest < 0 || tensor.shape[n] < tensor.shape[static_cast<std::size_t>(shortest)]) {
      shortest = static_cast<int>(n);
    }
  }
  return shortest;
}

// The first update of a mode replaces its rows, so only the constrained ones start from the weights. ADMM starts from
// the old rows too: random ones far larger than the tensor would end at zero.
void CpAls::start(std::span<const double> weights) {
  if (!weights.empty()) {
    weights_.assign(weights.begin(), weights.end());
  } else if (!std::ranges::all_of(std::get<AlsMethod>(context_.options.method).constraints,
                                  &RowConstraint::normalises)) {
    scale_initial_factors(context_, {}, weights);
  }
}

void CpAls::run_step(SweepReport& report) {
  double inner = 0;
  weights_before_ = weights_;
  updated_modes_ = 0;
  if (fits_scale_) take_scale();
  for (int mode = 0; mode < order_; ++mode) {
    if (constraint_of(mode).is_held()) continue;
    const bool carries = carrier_ >= 0 && !constraint_of(mode).normalises();
    if (carries) carry_weights();
    context_.workers.pass(mode);
    if (updated_modes_ == 0 && report.sweep == 1 && starts_within_constraints()) find_first_objective(mode, carries);
    RowUpdate update = update_rows(mode, carries);
    put_weights_down();
    if (!carries) weights_ = std::move(update.norms);
    if (is_zero(mode)) {
      throw Error(ErrorKind::invalid_argument,
                  "every entry of factor " + std::to_string(mode) + " became zero" +
                      (constraint_of(mode).is_least_squares()
                           ? ""
                           : ": the best that its constraint allows is zero, or the values are too small") +
                      "; scale the values up" + (context_.options.ridge > 0 ? ", lower " + option_name("ridge") : "") +
                      (constraint_of(mode).l1 > 0 ? ", lower " + option_name("l1") : "") +
                      (constraint_of(mode).set != RowSet::all ? ", leave out the mode's constraint" : "") + ", use " +
                      option_name("precision", "f64") + ", or start from factors that are not zero");
    }
    inner = update.inner;
  }
  if (fits_scale_) fit_scale(inner);
  report.fit = fit(inner * scale_, report.sweep);
  report.objective = (1 - report.fit) * (1 - report.fit) * norm_squared_;
  report.system_ranks = system_ranks_;
}

// That of a model to go on from; other weights go into the first mode's rows.
void CpAls::take_scale() {
  const bool are_alike = std::ranges::all_of(weights_, [&](double weight) { return weight == weights_[0]; });
  scale_ = are_alike && weights_[0] > 0 ? weights_[0] : 1;
  for (double& weight : weights_) weight /= scale_;
}

// The best one for the rows, whose inner product with the tensor is known.
void CpAls::fit_scale(double inner) {
  const std::vector<double> grams = product_of_grams(context_.workers.factors(), order_, rank_);
  const double best = inner / std::accumulate(grams.begin(), grams.end(), 0.0);
  if (best > 0 && std::isfinite(best)) scale_ = best;
  weights_.assign(weights_.size(), scale_);
}

// All weights, or all entries of a factor that keeps its scale, are zero.
bool CpAls::is_zero(int mode) const {
  const auto zero = [](double number) { return number == 0; };
  if (std::ranges::all_of(weights_, zero)) return true;
  return !constraint_of(mode).normalises() && std::ranges::all_of(context_.workers.factors().gram(mode), zero);
}

RowConstraint CpAls::constraint_of(int mode) const {
  const auto& constraints = std::get<AlsMethod>(context_.options.method).constraints;
  return constraints.empty() ? RowConstraint{} : constraints[static_cast<std::size_t>(mode)];
}

// The system of a mode is the Grams' product, with the ridge on its diagonal: that of |X - c A K^T|^2 + ridge |A|^2,
// divided by the scale c.
RowUpdate CpAls::update_rows(int mode, bool carried) {
  const auto rank = static_cast<std::size_t>(rank_);
  std::vector<double> system = product_of_grams(context_.workers.factors(), order_, rank_, mode);
  double trace = 0;
  for (std::size_t r = 0; r < rank; ++r) {
    for (std::size_t s = 0; s < rank; ++s) system[r * rank + s] *= scale_;
    system[r * rank + r] += context_.options.ridge / scale_;
    trace += system[r * rank + r];
  }
  const RowConstraint constraint = constraint_of(mode);
  std::vector<double> factored = system;
  // Where all other columns are zero, any rho will do.
  const double mean = trace > 0 ? trace / static_cast<double>(rank_) : 1.0;
  const double rho = constraint.needs_dual() ? mean : 0.0;
  for (std::size_t r = 0; r < rank; ++r) factored[r * rank + r] += rho;
  const RowSolver solver(factored, rank_, eigenvalue_cutoff(context_.options.compute.precision));
  system_ranks_[static_cast<std::size_t>(mode)] = solver.numerical_rank();
  updated_modes_ = mode + 1;
  RowProblem problem(solver);
  problem.system = system;
  if (!carried && !constraint.is_least_squares()) problem.weights = weights_;
  problem.constraint = constraint;
  problem.rho = rho;
  return context_.workers.factors().update_rows(mode, problem);
}

void CpAls::undo_step() {
  const auto was_updated = [this](int mode) { return mode < updated_modes_ && !constraint_of(mode).is_held(); };
  for (int mode = 0; mode < order_; ++mode) {
    if (was_updated(mode)) context_.workers.factors().restore_factor(mode);
  }
  if (carrier_ >= 0 && !was_updated(carrier_)) put_weights_down();  // else it has the factor of before the step
  weights_ = weights_before_;
}

bool CpAls::has_converged(const ModelHeader& so_far, const SweepReport*) const {
  return has_settled(so_far, tolerance_of(context_.options));
}

double CpAls::penalty() const {
  return context_.options.ridge * std::inner_product(weights_.begin(), weights_.end(), weights_.begin(), 0.0);
}

MethodState CpAls::state() const {
  if (needs(context_.tensor.summary(), context_.options).dual_modes == 0) return {};
  return {.numbers = {}, .matrices = {"dual"}};
}

void CpAls::store_rows(std::size_t, int mode, std::uint64_t first_row, std::span<double> rows) const {
  if (constraint_of(mode).needs_dual()) {
    context_.workers.factors().store_dual(mode, first_row, rows);
  } else {
    std::ranges::fill(rows, 0.0);
  }
}

void CpAls::restore(ResumedState& resumed) {
  resumed.require(0, state().matrices);
  resumed.read_rows([this](std::size_t, std::size_t n, std::uint64_t first_row, std::span<const double> rows) {
    const int mode = static_cast<int>(n);
    if (constraint_of(mode).needs_dual()) context_.workers.factors().load_dual(mode, first_row, rows);
  });
}

bool CpAls::starts_within_constraints() const {
  const CpdModel* const initial = context_.options.initial;
  const auto& constraints = std::get<AlsMethod>(context_.options.method).constraints;
  if (initial == nullptr || initial->shape != context_.tensor.summary().shape) return false;
  if (context_.options.ridge > 0) return false;
  if (std::ranges::none_of(constraints, &RowConstraint::needs_dual)) return false;
  if (std::ranges::any_of(initial->weights, [](double weight) { return weight < 0; })) return false;
  // Else the first mode's rows get the weights.
  if (carrier_ < 0 && std::ranges::any_of(weights_, [](double weight) { return weight != 1; })) return false;
  const auto rank = static_cast<std::size_t>(rank_);
  for (std::size_t n = 0; n < constraints.size(); ++n) {
    const RowConstraint& constraint = constraints[n];
    const std::vector<double>& rows = initial->factors[n];
    if (constraint.l1 > 0) return false;
    if (constraint.set == RowSet::box &&
        !std::ranges::all_of(rows, [&](double x) { return x >= constraint.lower && x <= constraint.upper; })) {
      return false;
    }
    const bool is_simplex = constraint.set == RowSet::simplex;
    if ((is_simplex || constraint.set == RowSet::nonnegative) &&
        !std::ranges::all_of(rows, [](double x) { return x >= 0; })) {
      return false;
    }
    for (std::size_t at = 0; is_simplex && at < rows.size(); at += rank) {
      constexpr double rounding = 1e-6;
      const double sum = std::accumulate(&rows[at], &rows[at] + rank, 0.0);
      if (std::abs(sum - 1) > rounding) return false;
    }
  }
  return true;
}

// Of the factors before their first update, by the first MTTKRP.
void CpAls::find_first_objective(int mode, bool carries) {
  const auto rank = static_cast<std::size_t>(rank_);
  std::vector<double> weights = carries ? std::vector<double>(rank, 1.0) : weights_;
  for (double& weight : weights) weight *= scale_;
  std::vector<double> outputs(numbers_of_block(rank_));
  std::vector<double> rows(outputs.size());
  double inner = 0;
  for_each_row_block(context_.tensor.summary().shape[static_cast<std::size_t>(mode)], rank_,
                     [&](std::uint64_t first, std::size_t count) {
                       context_.workers.factors().read_output(mode, first, std::span(outputs).first(count));
                       context_.workers.factors().store_factor(mode, first, std::span(rows).first(count));
                       for (std::size_t i = 0; i < count; ++i) inner += outputs[i] * rows[i] * weights[i % rank];
                       return true;
                     });
  first_objective_ = squared_residual(inner, weights, "the fit of the initial model");
}

// |X - model|^2, where `inner` is that of both.
double CpAls::squared_residual(double inner, std::span<const double> weights, const std::string& where) {
  // Relative to the terms added: larger than any rounding error, even with f32.
  constexpr double rounding = 1e-3;
  const std::vector<double> grams = product_of_grams(context_.workers.factors(), order_, rank_);
  const auto rank = static_cast<std::size_t>(rank_);
  double model_squared = 0;
  double terms = norm_squared_ + 2 * std::abs(inner);
  for (std::size_t r = 0; r < rank; ++r) {
    for (std::size_t s = 0; s < rank; ++s) {
      const double term = weights[r] * weights[s] * grams[r * rank + s];
      model_squared += term;
      terms += std::abs(term);
    }
  }
  const double residual_squared = norm_squared_ + model_squared - 2 * inner;
  if (residual_squared < -rounding * terms) {
    throw Error(ErrorKind::corrupt,
                where + " is above 1: the stored sum of squares does not match the values; ingest the tensor again");
  }
  // Cancellation can leave a few rounding errors below zero when the fit is close to 1.
  return residual_squared < 0 ? 0 : residual_squared;
}

double CpAls::fit(double inner, int sweep) {
  const std::string where = "the fit of sweep " + std::to_string(sweep);
  const double result = 1 - std::sqrt(squared_residual(inner, weights_, where)) / std::sqrt(norm_squared_);
  if (!std::isfinite(result)) {
    throw Error(
        ErrorKind::invalid_argument,
        where + " is not a finite number: the values or the initial factors are too large; scale them down, or use " +
            option_name("precision", "f64"));
  }
  return result;
}

}  // namespace

const MethodEntry als_method{{.name = "als",
                              .has_fit = true,
                              .scales_columns = true,
                              .takes_ridge = true,
                              .takes_any_start = true,
                              .takes_any_constraint = true,
                              .takes_momentum = true},
                             CpAls::check,
                             nullptr,
                             CpAls::needs,
                             make_of<CpAls>};

}  // namespace blco
