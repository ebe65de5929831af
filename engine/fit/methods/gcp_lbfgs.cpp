// Acar, Dunlavy & Kolda, A Scalable Optimization Approach for Fitting Canonical Tensor Decompositions, J. Chemometrics
// 2011, with the gradients of Hong, Kolda & Duersch 2020.
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "engine/fit/methods/factor_steps.hpp"
#include "engine/fit/methods/fit_method.hpp"
#include "engine/fit/methods/gcp.hpp"
#include "engine/fit/methods/gcp_objective.hpp"
#include "engine/fit/methods/initial_scale.hpp"
#include "engine/fit/methods/lbfgs_b.hpp"
#include "engine/fit/methods/sampled_zeros.hpp"
#include "engine/tensor/tensor_chunks.hpp"

namespace blco {
namespace {

const Loss& loss_of(const CpdOptions& options) { return std::get<GcpMethod>(options.method).loss; }
int evaluations_of(const CpdOptions& options) { return std::get<GcpMethod>(options.method).evaluations; }

bool is_poisson(const CpdOptions& options) { return loss_at_zero(loss_of(options)) == ZeroLoss::model; }

// A sweep has evaluations enough to find the end of few numbers from anywhere.
bool needs_apr(const TensorSummary& tensor, const CpdOptions& options) {
  return is_poisson(options) &&
         factor_numbers(tensor, options.rank) > static_cast<std::uint64_t>(evaluations_of(options));
}

bool visits_zeros(const TensorSummary& tensor, const CpdOptions& options) {
  return !sums_over_zeros(loss_of(options)) && !lists_all_cells(tensor);
}

// The loss adds 1e-10 to m within its logarithm, which must be small beside the rates of a sparse tensor. Where their
// mean is below 1e-4, the factors' model is a multiple of the model whose mean is that, so that 1e-6 of the mean is
// added instead. A power of 2, which rounds nothing.
double scale_of_model(const Loss& loss, double mean) {
  constexpr double least_mean = 1e-4;
  if (loss_at_zero(loss) != ZeroLoss::model || mean >= least_mean || !(mean > 0)) return 1;
  return std::exp2(std::ceil(std::log2(least_mean / mean)));
}

ModeSet modes_of(const TensorSummary& tensor, const CpdOptions& options, RowSet set) {
  ModeSet modes = 0;
  for (std::size_t n = 0; n < tensor.shape.size(); ++n) {
    if (row_set(options.method, n) == set) modes |= mode_bit(static_cast<int>(n));
  }
  return modes;
}

ModeSet all_of(const TensorSummary& tensor) { return all_modes(static_cast<int>(tensor.shape.size())); }

// Modes whose factors the fit changes.
ModeSet free_modes(const TensorSummary& tensor, const CpdOptions& options) {
  return all_of(tensor) & ~modes_of(tensor, options, RowSet::held);
}

// Modes whose numbers stay at 0 or above.
ModeSet bounded_modes(const TensorSummary& tensor, const CpdOptions& options) {
  if (needs_nonnegative_model(loss_of(options))) return all_of(tensor);
  return modes_of(tensor, options, RowSet::nonnegative);
}

class GcpLbfgs final : public FitMethod {
 public:
  explicit GcpLbfgs(const FitContext& context);

  // The tensor has an exact sum: fitted_method() has seen to that.
  static void check(const TensorSummary& tensor, const CpdOptions& options);
  static MethodNeeds needs(const TensorSummary& tensor, const CpdOptions& options);

  void start(std::span<const double> weights) override;
  // One run of L-BFGS, which starts from the factors alone.
  void run_step(SweepReport& report) override;
  const std::vector<double>& weights() const override { return weights_; }

  // The number of the next pass.
  MethodState state() const override;
  void restore(ResumedState& state) override;

 private:
  std::vector<double> take(NumbersKind kind, ModeSet modes = ~ModeSet{0}, std::span<const double> given = {});
  void find_scales();
  double evaluate();
  const std::vector<std::uint64_t>& shape() const { return context_.tensor.summary().shape; }
  int order() const { return static_cast<int>(shape().size()); }

  FitContext context_;
  double model_scale_;                 // the factors' model is that many times the model
  std::vector<double> weights_;        // so all are 1 / model_scale_
  std::optional<SampledZeros> zeros_;  // all cells, where the loss has no closed form
  GcpObjective objective_;
  ModeSet free_modes_;
  LbfgsB minimizer_;  // of the factors' numbers over their scales, which a sweep of poisson has
};

GcpLbfgs::GcpLbfgs(const FitContext& context)
    : context_(context),
      model_scale_(scale_of_model(loss_of(context.options), context.constant.value)),
      weights_(static_cast<std::size_t>(context.options.rank), 1 / model_scale_),
      objective_(context.workers, context.tensor.summary().shape, context.options.rank, loss_of(context.options),
                 sums_over_zeros(loss_of(context.options)) ? AbsentCells::zeros : AbsentCells::unknown,
                 1 / model_scale_),
      free_modes_(free_modes(context.tensor.summary(), context.options)),
      minimizer_(
          factor_numbers(context.tensor.summary(), context.options.rank),
          bounded_modes(context.tensor.summary(), context.options) != 0,
          [this](const LbfgsStep& step) { return context_.workers.take({.step = step}); }, context.workers.executor()) {
  const TensorSummary& tensor = context.tensor.summary();
  take(NumbersKind::bound, bounded_modes(tensor, context.options));
  if (!visits_zeros(tensor, context.options)) return;
  zeros_.emplace(TensorChunks::of(context.tensor), context.workers, static_cast<std::uint64_t>(count_cells(tensor)));
  zeros_->take_all();
}

void GcpLbfgs::check(const TensorSummary&, const CpdOptions& options) { check_loss(options); }

MethodNeeds GcpLbfgs::needs(const TensorSummary& tensor, const CpdOptions& options) {
  MethodNeeds needs;
  needs.all_outputs = true;
  needs.any_rows = visits_zeros(tensor, options);
  needs.lbfgs = needs_apr(tensor, options) ? LbfgsVectors::scaled : LbfgsVectors::plain;
  needs.stops_after_pass = true;
  const auto rank = static_cast<std::uint64_t>(options.rank);
  SerialExecutor none;
  needs.host.take("breakpoints", bytes_of<LbfgsB>(factor_numbers(tensor, options.rank), true, LbfgsB::Take(), none));
  needs.host.take_by_rank("systems of R x R numbers", rank * rank * sizeof(double));
  if (needs.any_rows) {
    const TensorLayout layout(tensor.shape);
    needs.slot_bytes = PackedCells::least_slot_bytes(layout);
    needs.host.take("all cells", PackedCells::bytes(layout, static_cast<std::uint64_t>(count_cells(tensor))));
  }
  return needs;
}

void GcpLbfgs::start(std::span<const double> weights) {
  check_gcp_signs(context_, weights);
  std::vector<double> scaled(weights.begin(), weights.end());
  const bool starts_by_apr = weights.empty() && needs_apr(context_.tensor.summary(), context_.options);
  if (starts_by_apr) scaled = start_by(context_, AprMethod());
  for (double& weight : scaled) weight *= model_scale_;
  scale_initial_factors(context_, loss_of(context_.options), scaled);
}

std::vector<double> GcpLbfgs::take(NumbersKind kind, ModeSet modes, std::span<const double> given) {
  return context_.workers.take({.kind = kind, .places = minimizer_.places(), .modes = modes}, given);
}

// A step along poisson's gradient in these scales is the multiplicative update of apr, a * phi = a - (a / h) * slope,
// where h is the product of the other modes' column sums. A number of zero takes steps as if it were small.
void GcpLbfgs::find_scales() {
  constexpr double small = 1e-2;  // of its column's mean
  const auto rank = static_cast<std::size_t>(context_.options.rank);
  const std::vector<double> sums = take(NumbersKind::sum_columns);
  for (std::size_t n = 0; n < shape().size(); ++n) {
    if (!has_mode(free_modes_, static_cast<int>(n))) continue;
    std::vector<double> given;
    for (std::size_t r = n * rank; r < (n + 1) * rank; ++r) {
      given.push_back(small * sums[r] / static_cast<double>(shape()[n]));
    }
    given.resize(2 * rank, 1 / model_scale_);
    for (std::size_t i = 0; i < sums.size(); ++i) given[rank + i % rank] *= i / rank == n ? 1 : sums[i];
    take(NumbersKind::scale, mode_bit(static_cast<int>(n)), given);
  }
}

void GcpLbfgs::run_step(SweepReport& report) {
  take(NumbersKind::read_factors);
  // A given model's first sweep goes straight to the minimum next to it: the scales can lead elsewhere.
  const bool has_scales = needs_apr(context_.tensor.summary(), context_.options);
  if (has_scales && (context_.options.initial == nullptr || report.sweep > 1)) find_scales();
  take(NumbersKind::divide);
  const int evaluations = evaluations_of(context_.options);
  const LbfgsB::Result result = minimizer_.minimize([this] { return evaluate(); }, evaluations, context_.stop);
  if (!result.is_best_last) take(NumbersKind::write_factors, free_modes_);
  report.objective = result.value;
  report.explained = context_.constant.explained(result.value);
  const double tolerance = tolerance_of(context_.options);
  report.cut_short = result.evaluations < evaluations && context_.stop && context_.stop();
  report.converged = tolerance > 0 && report.explained > tolerance &&
                     result.first_value - result.value <= tolerance * context_.constant.deviance();
}

double GcpLbfgs::evaluate() {
  take(NumbersKind::write_factors, free_modes_);
  PassRequest pass = objective_.pass();
  if (zeros_) pass.function->rule = EntryRule::beyond_zero;
  context_.workers.pass(pass);
  if (zeros_) zeros_->add_to_pass(loss_of(context_.options), 1, pass.outputs);
  // -x log(m + e), where the factors' model is m times its scale.
  const double sum_of_entries =
      is_poisson(context_.options) ? context_.constant.value * count_cells(context_.tensor.summary()) : 0;
  const double value = objective_.value() + sum_of_entries * std::log(model_scale_);
  NumbersOrder read{.kind = NumbersKind::read_gradient, .places = minimizer_.places()};
  for (int n = 0; n < order(); ++n) {
    if (!has_mode(free_modes_, n)) continue;
    const OtherModes others = objective_.others(n);
    read.modes = mode_bit(n);
    read.is_of_squares = others.is_of_squares;
    context_.workers.take(read, others.product);
  }
  if (free_modes_ != all_of(context_.tensor.summary())) take(NumbersKind::clear_gradient, ~free_modes_);
  return value;
}

MethodState GcpLbfgs::state() const {
  return {.numbers = {static_cast<double>(context_.workers.next_pass())}, .matrices = {}};
}

void GcpLbfgs::restore(ResumedState& state) {
  state.require(1, {});
  context_.workers.set_next_pass(state.next_count(number_of_next_pass));
}

}  // namespace

const MethodEntry gcp_method{
    {.name = "gcp", .takes_loss = true}, GcpLbfgs::check, check_gcp_entries, GcpLbfgs::needs, make_of<GcpLbfgs>};

}  // namespace blco
