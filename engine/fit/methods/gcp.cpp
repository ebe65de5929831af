#include "engine/fit/methods/gcp.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/fit/methods/gcp_adam.hpp"
#include "engine/fit/methods/gcp_lbfgs.hpp"
#include "engine/fit/methods/value_check.hpp"
#include "kernels/losses.hpp"

namespace blco {
namespace {

const GcpMethod& method_of(const CpdOptions& options) { return std::get<GcpMethod>(options.method); }

std::string name_in_messages(const Loss& loss) { return "loss " + to_string(loss); }

// Adam samples zeros; L-BFGS takes the sum over all cells.
bool samples_zeros(const TensorSummary& tensor, const CpdOptions& options) {
  const GcpMethod& method = method_of(options);
  if (sums_over_zeros(method.loss)) return false;
  return std::holds_alternative<AdamOptimizer>(method.optimizer) || !GcpLbfgs::takes_all_cells(tensor);
}

void check_optimizer(const TensorSummary& tensor, const CpdOptions& options) {
  const GcpMethod& method = method_of(options);
  const bool is_sampled = samples_zeros(tensor, options);
  if (std::holds_alternative<LbfgsOptimizer>(method.optimizer) && is_sampled) {
    refuse(option_name("evaluations") + " does not apply to " + name_in_messages(method.loss) +
           ", which is fitted by Adam on sampled cells; leave it out");
  }
  if (std::holds_alternative<AdamOptimizer>(method.optimizer) && !is_sampled) {
    refuse(option_name("learning_rate") + " and " + option_name("sampled_zeros") + " do not apply to " +
           name_in_messages(method.loss) + ", which is fitted by L-BFGS on all cells; leave them out");
  }
}

}  // namespace

void Gcp::check(const TensorSummary& tensor, const CpdOptions& options) {
  const GcpMethod& method = method_of(options);
  check_parameter(method.loss);
  check_optimizer(tensor, options);
  if (scale_of(method.loss) == ModelScale::logarithm &&
      std::ranges::any_of(method.constraints, [](const auto& c) { return c.set == RowSet::nonnegative; })) {
    refuse(option_name("nonnegative") + " does not go with " + name_in_messages(method.loss) +
           ", whose model is a logarithm, below 0 in most cells; leave it out, or use " +
           option_name("loss", method.loss.kind == LossKind::poisson_log ? "poisson" : "bernoulli-odds"));
  }
  if (options.initial != nullptr && needs_nonnegative_model(method.loss)) {
    check_initial_signs(*options.initial, name_in_messages(method.loss));
  }
  samples_zeros(tensor, options) ? GcpAdam::check(tensor, options) : GcpLbfgs::check(options);
}

ConstantModel Gcp::check_entries(const Tensor& tensor, const CpdOptions& options, int value_exponent,
                                 ProgressMeter& meter) {
  const Loss& loss = method_of(options).loss;
  return find_constant_model(tensor, loss, value_exponent,
                             name_in_messages(loss) + " takes " + values_taken_by(loss) +
                                 "; correct it, or choose another " + option_name("loss"),
                             meter);
}

void Gcp::check_signs(const FitContext& context, std::span<const double> weights) {
  const Loss& loss = method_of(context.options).loss;
  if (context.options.resume.empty() || !needs_nonnegative_model(loss)) return;
  check_resumed_signs(context, weights, name_in_messages(loss));
}

std::vector<double> Gcp::start_by(const FitContext& context, const CpdMethod& method) {
  constexpr int sweeps = 5;
  CpdOptions options = context.options;
  options.method = method;
  options.tolerance.reset();
  const std::unique_ptr<FitMethod> other =
      make_method({context.tensor, options, context.workers, context.stop, context.constant, context.value_exponent});
  other->start({});
  SweepReport report;
  while (report.sweep < sweeps && !context.stop()) {
    ++report.sweep;
    other->run_step(report);
  }
  return other->weights();
}

MethodNeeds Gcp::needs(const TensorSummary& tensor, const CpdOptions& options) {
  return samples_zeros(tensor, options) ? GcpAdam::needs(tensor, options) : GcpLbfgs::needs(tensor, options);
}

std::unique_ptr<FitMethod> Gcp::make(const FitContext& context) {
  if (samples_zeros(context.tensor.summary(), context.options)) return std::make_unique<GcpAdam>(context);
  return std::make_unique<GcpLbfgs>(context);
}

}  // namespace blco
