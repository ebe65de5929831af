#include "engine/fit/methods/gcp.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/fit/methods/value_check.hpp"
#include "kernels/losses.hpp"

namespace blco {
namespace {

// Whether the sum over all cells can be had: in closed form, or by visiting each where all are listed or they are few.
bool has_exact_sum(const TensorSummary& tensor, const Loss& loss) {
  constexpr double max_cells = 1 << 18;
  return sums_over_zeros(loss) || lists_all_cells(tensor) || count_cells(tensor) <= max_cells;
}

}  // namespace

std::string name_in_messages(const Loss& loss) { return "loss " + to_string(loss); }

bool lists_all_cells(const TensorSummary& tensor) { return static_cast<double>(tensor.nnz) == count_cells(tensor); }

CpdMethod fitted_method(const TensorSummary& tensor, const CpdMethod& method) {
  const auto* const gcp = std::get_if<GcpMethod>(&method);
  if (gcp == nullptr || has_exact_sum(tensor, gcp->loss)) return method;
  return GcpAdamMethod{.loss = gcp->loss, .constraints = gcp->constraints};
}

void check_loss(const CpdOptions& options) {
  const Loss loss = loss_of(options.method);
  check_parameter(loss);
  if (scale_of(loss) == ModelScale::logarithm &&
      std::ranges::any_of(constraints_of(options.method),
                          [](const auto& constraint) { return constraint.set == RowSet::nonnegative; })) {
    refuse(option_name("nonnegative") + " does not go with " + name_in_messages(loss) +
           ", whose model is a logarithm, below 0 in most cells; leave it out, or use " +
           option_name("loss", loss.kind == LossKind::poisson_log ? "poisson" : "bernoulli-odds"));
  }
  if (options.initial != nullptr && needs_nonnegative_model(loss)) {
    check_initial_signs(*options.initial, name_in_messages(loss));
  }
}

ConstantModel check_gcp_entries(const Tensor& tensor, const CpdOptions& options, int value_exponent,
                                ProgressMeter& meter) {
  const Loss loss = loss_of(options.method);
  return find_constant_model(tensor, loss, value_exponent,
                             name_in_messages(loss) + " takes " + values_taken_by(loss) +
                                 "; correct it, or choose another " + option_name("loss"),
                             meter);
}

void check_gcp_signs(const FitContext& context, std::span<const double> weights) {
  const Loss loss = loss_of(context.options.method);
  if (context.options.resume.empty() || !needs_nonnegative_model(loss)) return;
  check_resumed_signs(context, weights, name_in_messages(loss));
}

std::vector<double> start_by(const FitContext& context, const CpdMethod& method) {
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

}  // namespace blco
