// Acar, Dunlavy & Kolda, A Scalable Optimization Approach for Fitting Canonical Tensor Decompositions, J. Chemometrics
// 2011, with the gradients of Hong, Kolda & Duersch 2020.
#include "engine/fit/methods/gcp_lbfgs.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "engine/fit/methods/factor_steps.hpp"
#include "engine/fit/methods/gcp.hpp"
#include "engine/fit/methods/initial_scale.hpp"
#include "engine/fit/methods/row_blocks.hpp"

namespace blco {

GcpLbfgs::GcpLbfgs(const FitContext& context)
    : context_(context),
      weights_(static_cast<std::size_t>(context.options.rank), 1.0),
      objective_(context.backend, context.pool, context.tensor.summary().shape, context.options.rank,
                 std::get<GcpMethod>(context.options.method).loss, AbsentCells::zeros),
      minimizer_(factor_numbers(context.tensor.summary(), context.options.rank),
                 needs_nonnegative_model(std::get<GcpMethod>(context.options.method).loss)) {}

void GcpLbfgs::check(const TensorSummary& tensor, const CpdOptions& options) {
  const auto& method = std::get<GcpMethod>(options.method);
  if (method.evaluations < 2) refuse(option_name("evaluations") + " must be at least 2");
  const std::uint64_t numbers = factor_numbers(tensor, options.rank);
  if (numbers > max_lbfgs_numbers) {
    refuse("the factors have " + std::to_string(numbers) + " numbers, but L-BFGS takes at most " +
           std::to_string(max_lbfgs_numbers) + "; lower " + option_name("rank") + ", or use " +
           option_name("method", loss_at_zero(method.loss) == ZeroLoss::model ? "apr" : "als"));
  }
}

MethodNeeds GcpLbfgs::needs(const TensorSummary& tensor, const CpdOptions& options) {
  MethodNeeds needs;
  needs.all_outputs = true;
  needs.stops_after_pass = true;
  const auto rank = static_cast<std::uint64_t>(options.rank);
  needs.host_bytes = LbfgsB::bytes(factor_numbers(tensor, options.rank)) +
                     (numbers_of_block(options.rank) + rank * rank) * sizeof(double);
  return needs;
}

void GcpLbfgs::start(std::span<const double> weights) {
  Gcp::check_signs(context_, weights);
  scale_initial_factors(context_, std::get<GcpMethod>(context_.options.method).loss, weights);
}

void GcpLbfgs::run_step(SweepReport& report) {
  store_all_factors(context_.backend, shape(), minimizer_.x());
  const LbfgsB::Result result = minimizer_.minimize(
      [this](std::span<const double> x, std::span<double> gradient) { return evaluate(x, gradient); },
      std::get<GcpMethod>(context_.options.method).evaluations, context_.stop);
  if (!result.is_best_last) load_all_factors(context_.backend, shape(), minimizer_.x());
  report.objective = result.value;
  const double change = result.first_value - result.value;
  const double size = std::max(std::abs(result.first_value), std::abs(result.value));
  const bool was_stopped = context_.stop && context_.stop();
  report.converged = !was_stopped && context_.options.tolerance > 0 && change <= context_.options.tolerance * size;
}

double GcpLbfgs::evaluate(std::span<const double> x, std::span<double> gradient) {
  load_all_factors(context_.backend, shape(), x);
  context_.passes.run(objective_.pass());
  const double value = objective_.value();
  std::size_t at = 0;
  for (std::size_t n = 0; n < shape().size(); ++n) {
    const std::size_t numbers = shape()[n] * static_cast<std::size_t>(context_.options.rank);
    objective_.read_gradient(static_cast<int>(n), 0, gradient.subspan(at, numbers));
    at += numbers;
  }
  return value;
}

MethodState GcpLbfgs::state() const {
  return {.numbers = {static_cast<double>(context_.passes.next())}, .matrices = {}};
}

void GcpLbfgs::restore(ResumedState& state) {
  state.require(1, {});
  context_.passes.set_next(state.next_count(number_of_next_pass));
}

}  // namespace blco
