#include "engine/fit/gcp.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "engine/fit/gcp_adam.hpp"
#include "engine/fit/gcp_lbfgs.hpp"
#include "engine/fit/value_check.hpp"
#include "kernels/losses.hpp"

namespace blco {
namespace {

const GcpMethod& method_of(const CpdOptions& options) { return std::get<GcpMethod>(options.method); }

// Models of ALS may have negative entries.
void check_sign(const CpdModel& initial, const Loss& loss) {
  const auto is_negative = [](double number) { return number < 0; };
  const bool any = std::ranges::any_of(initial.weights, is_negative) ||
                   std::ranges::any_of(initial.factors, [&](const std::vector<double>& factor) {
                     return std::ranges::any_of(factor, is_negative);
                   });
  if (any) {
    refuse("the initial model has negative entries, but loss " + to_string(loss) +
           " takes factors of at least 0; start from a nonnegative model, or leave out " + option_name("initial"));
  }
}

}  // namespace

void Gcp::check(const TensorSummary& tensor, const CpdOptions& options) {
  const GcpMethod& method = method_of(options);
  if (!is_valid(method.loss)) {
    refuse("the parameter of " + option_name("loss", to_string(method.loss)) +
           " is out of range: " + loss_parameter_ranges());
  }
  if (options.ridge > 0) {
    refuse(option_name("ridge") + " belongs to the methods als and complete; leave it out, or use another method");
  }
  if (options.initial != nullptr && needs_nonnegative_model(method.loss)) check_sign(*options.initial, method.loss);
  sums_over_zeros(method.loss) ? GcpLbfgs::check(tensor, options) : GcpAdam::check(tensor, options);
}

void Gcp::check_entries(const Tensor& tensor, const CpdOptions& options, ProgressMeter& meter) {
  const Loss& loss = method_of(options).loss;
  if (entries_of(loss) == EntryRange::all) return;
  check_values(
      tensor, [&](double x) { return takes_entry(loss, x); },
      "loss " + to_string(loss) + " takes " + values_taken_by(loss) + "; correct it, or choose another " +
          option_name("loss"),
      meter);
}

MethodNeeds Gcp::needs(const TensorSummary& tensor, const CpdOptions& options) {
  return sums_over_zeros(method_of(options).loss) ? GcpLbfgs::needs(tensor, options) : GcpAdam::needs(tensor, options);
}

std::unique_ptr<FitMethod> Gcp::make(const FitContext& context) {
  if (sums_over_zeros(method_of(context.options).loss)) return std::make_unique<GcpLbfgs>(context);
  return std::make_unique<GcpAdam>(context);
}

}  // namespace blco
