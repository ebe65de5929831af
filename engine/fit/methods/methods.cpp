// The table of methods: to add one, write its class and its entry, and name them here and in CpdMethod.
#include <blco/cpd_method.hpp>
#include <string_view>
#include <type_traits>
#include <variant>

#include "engine/fit/methods/fit_method.hpp"
#include "engine/fit/methods/gcp.hpp"

namespace blco {
namespace {

const MethodEntry gcp_method{"gcp", Gcp::check, Gcp::check_entries, Gcp::needs, Gcp::make};

const MethodEntry& entry_of(const AlsMethod&) { return als_method; }
const MethodEntry& entry_of(const AprMethod&) { return apr_method; }
const MethodEntry& entry_of(const CompletionMethod&) { return completion_method; }
const MethodEntry& entry_of(const GcpMethod&) { return gcp_method; }

const MethodEntry& entry_of(const CpdMethod& method) {
  return std::visit([](const auto& options) -> const MethodEntry& { return entry_of(options); }, method);
}

}  // namespace

const char* name_of(const CpdMethod& method) { return entry_of(method).name; }

bool is_method(std::string_view name) {
  const auto is_name = [&]<class... Options>(std::type_identity<std::variant<Options...>>) {
    return ((name == entry_of(Options()).name) || ...);
  };
  return is_name(std::type_identity<CpdMethod>());
}

void check_method(const TensorSummary& tensor, const CpdOptions& options) {
  entry_of(options.method).check(tensor, options);
}

ConstantModel check_entries(const Tensor& tensor, const CpdOptions& options, ProgressMeter& meter) {
  const auto check = entry_of(options.method).check_entries;
  return check != nullptr ? check(tensor, options, meter) : ConstantModel{};
}

MethodNeeds method_needs(const TensorSummary& tensor, const CpdOptions& options) {
  return entry_of(options.method).needs(tensor, options);
}

std::unique_ptr<FitMethod> make_method(const FitContext& context) {
  return entry_of(context.options.method).make(context);
}

void describe_method(const CpdOptions& options, CpdModel& model) {
  model.method = name_of(options.method);
  if (const auto* als = std::get_if<AlsMethod>(&options.method)) model.constraints = als->constraints;
  if (std::holds_alternative<AprMethod>(options.method)) model.loss = {LossKind::poisson, 0};
  if (const auto* gcp = std::get_if<GcpMethod>(&options.method)) model.loss = gcp->loss;
}

bool FitMethod::has_converged(const CpdModel& so_far, const SweepReport* report) const {
  return report != nullptr ? report->converged : so_far.stop_reason == StopReason::tolerance;
}

}  // namespace blco
