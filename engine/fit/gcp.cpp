#include "engine/fit/gcp.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "engine/fit/gcp_adam.hpp"
#include "engine/fit/gcp_lbfgs.hpp"
#include "engine/fit/value_check.hpp"

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

// Which values a loss takes, and the same in words; nothing: all.
struct Domain {
  std::function<bool(double)> has = {};
  std::string words = {};
};

Domain domain_of(const Loss& loss) {
  switch (loss.kind) {
    case LossKind::gaussian:
    case LossKind::huber:
      return {};
    case LossKind::bernoulli_odds:
    case LossKind::bernoulli_logit:
      return {[](double x) { return x == 0 || x == 1; }, "0 and 1 only"};
    case LossKind::poisson:
    case LossKind::poisson_log:
    case LossKind::gamma:
    case LossKind::rayleigh:
    case LossKind::beta:
      break;
  }
  return {[](double x) { return x >= 0; }, "values of at least 0"};
}

}  // namespace

void Gcp::check(const TensorSummary& tensor, const CpdOptions& options) {
  const GcpMethod& method = method_of(options);
  if (parse_loss(to_string(method.loss)) != method.loss) {
    refuse(option_name("loss", to_string(method.loss)) + " has a parameter out of range");
  }
  if (options.ridge > 0) {
    refuse(option_name("ridge") + " belongs to the methods als and complete; leave it out, or use another method");
  }
  if (options.initial != nullptr && needs_nonnegative_model(method.loss)) check_sign(*options.initial, method.loss);
  sums_over_zeros(method.loss) ? GcpLbfgs::check(tensor, options) : GcpAdam::check(tensor, options);
}

void Gcp::check_entries(const Tensor& tensor, const CpdOptions& options, ProgressMeter& meter) {
  const Loss& loss = method_of(options).loss;
  const Domain domain = domain_of(loss);
  if (domain.has) check_values(tensor, domain.has, "loss " + to_string(loss) + " takes " + domain.words, meter);
}

MethodNeeds Gcp::needs(const TensorSummary& tensor, const CpdOptions& options) {
  return sums_over_zeros(method_of(options).loss) ? GcpLbfgs::needs(tensor, options) : GcpAdam::needs(tensor, options);
}

std::unique_ptr<FitMethod> Gcp::make(const FitContext& context) {
  if (sums_over_zeros(method_of(context.options).loss)) return std::make_unique<GcpLbfgs>(context);
  return std::make_unique<GcpAdam>(context);
}

}  // namespace blco
