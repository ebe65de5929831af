#include "engine/fit/methods/gcp.hpp"

#include <cmath>
#include <string>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "engine/fit/methods/gcp_adam.hpp"
#include "engine/fit/methods/gcp_lbfgs.hpp"
#include "engine/fit/methods/value_check.hpp"
#include "kernels/losses.hpp"

namespace blco {
namespace {

const GcpMethod& method_of(const CpdOptions& options) { return std::get<GcpMethod>(options.method); }

std::string name_in_messages(const Loss& loss) { return "loss " + to_string(loss); }

}  // namespace

void Gcp::check(const TensorSummary& tensor, const CpdOptions& options) {
  const GcpMethod& method = method_of(options);
  check_parameter(method.loss);
  if (options.ridge > 0) {
    refuse(option_name("ridge") + " belongs to the methods als and complete; leave it out, or use another method");
  }
  if (options.initial != nullptr && needs_nonnegative_model(method.loss)) {
    check_initial_signs(*options.initial, name_in_messages(method.loss));
  }
  sums_over_zeros(method.loss) ? GcpLbfgs::check(tensor, options) : GcpAdam::check(tensor, options);
}

ConstantModel Gcp::check_entries(const Tensor& tensor, const CpdOptions& options, ProgressMeter& meter) {
  const Loss& loss = method_of(options).loss;
  return find_constant_model(tensor, loss,
                             name_in_messages(loss) + " takes " + values_taken_by(loss) +
                                 "; correct it, or choose another " + option_name("loss"),
                             meter);
}

void Gcp::check_signs(const FitContext& context, std::span<const double> weights) {
  const Loss& loss = method_of(context.options).loss;
  if (context.options.resume.empty() || !needs_nonnegative_model(loss)) return;
  check_resumed_signs(context, weights, name_in_messages(loss));
}

MethodNeeds Gcp::needs(const TensorSummary& tensor, const CpdOptions& options) {
  return sums_over_zeros(method_of(options).loss) ? GcpLbfgs::needs(tensor, options) : GcpAdam::needs(tensor, options);
}

std::unique_ptr<FitMethod> Gcp::make(const FitContext& context) {
  if (sums_over_zeros(method_of(context.options).loss)) return std::make_unique<GcpLbfgs>(context);
  return std::make_unique<GcpAdam>(context);
}

}  // namespace blco
