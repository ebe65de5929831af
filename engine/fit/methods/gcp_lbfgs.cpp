// Acar, Dunlavy & Kolda, A Scalable Optimization Approach for Fitting Canonical Tensor Decompositions, J. Chemometrics
// 2011, with the gradients of Hong, Kolda & Duersch 2020.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/fit/methods/factor_steps.hpp"
#include "engine/fit/methods/fit_method.hpp"
#include "engine/fit/methods/gcp.hpp"
#include "engine/fit/methods/gcp_objective.hpp"
#include "engine/fit/methods/initial_scale.hpp"
#include "engine/fit/methods/lbfgs_b.hpp"
#include "engine/fit/methods/row_blocks.hpp"
#include "engine/fit/methods/sampled_zeros.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "kernels/part_ranges.hpp"

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
  void find_scales();
  template <class Operation>
  void combine(std::span<const double> from, std::span<double> to, const Operation& operation);
  double evaluate(std::span<const double> scaled, std::span<double> gradient);
  const std::vector<std::uint64_t>& shape() const { return context_.tensor.summary().shape; }

  FitContext context_;
  double model_scale_;                 // the factors' model is that many times the model
  std::vector<double> weights_;        // so all are 1 / model_scale_
  std::optional<SampledZeros> zeros_;  // all cells, where the loss has no closed form
  GcpObjective objective_;
  LbfgsB minimizer_;            // of the factors' numbers over their scales
  std::vector<double> scales_;  // of a sweep of poisson; empty: all are 1
};

GcpLbfgs::GcpLbfgs(const FitContext& context)
    : context_(context),
      model_scale_(scale_of_model(loss_of(context.options), context.constant.value)),
      weights_(static_cast<std::size_t>(context.options.rank), 1 / model_scale_),
      objective_(context.workers, context.tensor.summary().shape, context.options.rank, loss_of(context.options),
                 sums_over_zeros(loss_of(context.options)) ? AbsentCells::zeros : AbsentCells::unknown,
                 1 / model_scale_),
      minimizer_(factor_numbers(context.tensor.summary(), context.options.rank), context.workers.executor()) {
  const TensorSummary& tensor = context.tensor.summary();
  if (needs_apr(tensor, context.options)) scales_.assign(minimizer_.x().size(), 1.0);
  const bool bounds_all = needs_nonnegative_model(loss_of(context.options));
  std::size_t at = 0;
  for (std::size_t n = 0; n < shape().size(); ++n) {
    const std::size_t numbers = shape()[n] * static_cast<std::size_t>(context.options.rank);
    if (bounds_all || row_set(context.options.method, n) == RowSet::nonnegative) minimizer_.bound(at, numbers);
    at += numbers;
  }
  if (!visits_zeros(tensor, context.options)) return;
  zeros_.emplace(TensorChunks::of(context.tensor), context.workers, static_cast<std::uint64_t>(count_cells(tensor)));
  zeros_->take_all();
}

void GcpLbfgs::check(const TensorSummary&, const CpdOptions& options) { check_loss(options); }

MethodNeeds GcpLbfgs::needs(const TensorSummary& tensor, const CpdOptions& options) {
  MethodNeeds needs;
  needs.all_outputs = true;
  needs.any_rows = true;  // and it takes its steps there
  needs.stops_after_pass = true;
  const auto rank = static_cast<std::uint64_t>(options.rank);
  const std::uint64_t numbers = factor_numbers(tensor, options.rank);
  const std::uint64_t scales = needs_apr(tensor, options) ? numbers : 0;
  SerialExecutor none;
  needs.host.take_by_rank("vectors of L-BFGS", bytes_of<LbfgsB>(numbers, none) + scales * sizeof(double));
  needs.host.take("blocks of rows", numbers_of_block(options.rank) * sizeof(double));
  needs.host.take_by_rank("systems of R x R numbers", rank * rank * sizeof(double));
  if (visits_zeros(tensor, options)) {
    const TensorLayout layout(tensor.shape);
    needs.slot_bytes = PackedCells::least_slot_bytes(layout);
    needs.host.take("all cells", PackedCells::bytes(layout, static_cast<std::uint64_t>(count_cells(tensor))));
  }
  return needs;
}

void GcpLbfgs::start(std::span<const double> weights) {
  check_gcp_signs(context_, weights);
  std::vector<double> scaled(weights.begin(), weights.end());
  if (weights.empty() && !scales_.empty()) scaled = start_by(context_, AprMethod());
  for (double& weight : scaled) weight *= model_scale_;
  scale_initial_factors(context_, loss_of(context_.options), scaled);
}

// A step along poisson's gradient in these scales is the multiplicative update of apr, a * phi = a - (a / h) * slope,
// where h is the product of the other modes' column sums. A number of zero takes steps as if it were small.
void GcpLbfgs::find_scales() {
  constexpr double small = 1e-2;  // of its column's mean
  const auto rank = static_cast<std::size_t>(context_.options.rank);
  const std::span<const double> x = minimizer_.x();
  std::vector<double> sums(shape().size() * rank);
  std::size_t at = 0;
  for (std::size_t n = 0; n < shape().size(); ++n) {
    for (const std::size_t end = at + shape()[n] * rank; at < end; ++at) sums[n * rank + at % rank] += x[at];
  }
  at = 0;
  for (std::size_t n = 0; n < shape().size(); ++n) {
    std::vector<double> others(rank, 1 / model_scale_);
    for (std::size_t i = 0; i < sums.size(); ++i) others[i % rank] *= i / rank == n ? 1 : sums[i];
    for (const std::size_t end = at + shape()[n] * rank; at < end; ++at) {
      const std::size_t r = at % rank;
      if (row_set(context_.options.method, n) == RowSet::held) continue;
      const double square = (x[at] + small * sums[n * rank + r] / static_cast<double>(shape()[n])) / others[r];
      scales_[at] = square > 0 && std::isfinite(square) ? std::sqrt(square) : 1.0;
    }
  }
}

// to = operation(from, scales), on all threads, where there are scales.
template <class Operation>
void GcpLbfgs::combine(std::span<const double> from, std::span<double> to, const Operation& operation) {
  run_shares(context_.workers.executor(), scales_.size(), [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) to[i] = operation(from[i], scales_[i]);
  });
}

void GcpLbfgs::run_step(SweepReport& report) {
  const std::span<double> x = minimizer_.x();
  store_all_factors(context_.workers.factors(), shape(), x);
  // A given model's first sweep goes straight to the minimum next to it: the scales can lead elsewhere.
  if (!scales_.empty() && (context_.options.initial == nullptr || report.sweep > 1)) find_scales();
  combine(x, x, std::divides());
  const int evaluations = evaluations_of(context_.options);
  const LbfgsB::Result result = minimizer_.minimize(
      [this](std::span<const double> scaled, std::span<double> gradient) { return evaluate(scaled, gradient); },
      evaluations, context_.stop);
  if (!result.is_best_last) {
    combine(minimizer_.x(), minimizer_.x(), std::multiplies());
    load_all_factors(context_.workers.factors(), shape(), minimizer_.x());
  }
  report.objective = result.value;
  report.explained = context_.constant.explained(result.value);
  const double tolerance = tolerance_of(context_.options);
  report.cut_short = result.evaluations < evaluations && context_.stop && context_.stop();
  report.converged = tolerance > 0 && report.explained > tolerance &&
                     result.first_value - result.value <= tolerance * context_.constant.deviance();
}

double GcpLbfgs::evaluate(std::span<const double> scaled, std::span<double> gradient) {
  combine(scaled, gradient, std::multiplies());
  load_all_factors(context_.workers.factors(), shape(), scales_.empty() ? scaled : gradient);
  PassRequest pass = objective_.pass();
  if (zeros_) pass.function->rule = EntryRule::beyond_zero;
  context_.workers.pass(pass);
  if (zeros_) zeros_->add_to_pass(loss_of(context_.options), 1, pass.outputs);
  // -x log(m + e), where the factors' model is m times its scale.
  const double sum_of_entries =
      is_poisson(context_.options) ? context_.constant.value * count_cells(context_.tensor.summary()) : 0;
  const double value = objective_.value() + sum_of_entries * std::log(model_scale_);
  std::size_t at = 0;
  for (std::size_t n = 0; n < shape().size(); ++n) {
    const std::size_t numbers = shape()[n] * static_cast<std::size_t>(context_.options.rank);
    const std::span<double> slopes = gradient.subspan(at, numbers);
    if (row_set(context_.options.method, n) == RowSet::held) {
      std::ranges::fill(slopes, 0.0);
    } else {
      objective_.read_gradient(static_cast<int>(n), 0, slopes);
    }
    at += numbers;
  }
  combine(gradient, gradient, std::multiplies());
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
