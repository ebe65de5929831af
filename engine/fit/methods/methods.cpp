// The table of methods: to add one, write its class and its entry, and name them here and in CpdMethod.
#include <algorithm>
#include <blco/cpd_method.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
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

const std::vector<RowConstraint>& constraints_of(const CpdMethod& method) {
  static const std::vector<RowConstraint> none;
  return std::visit(
      [](const auto& options) -> const std::vector<RowConstraint>& {
        if constexpr (requires { options.constraints; }) return options.constraints;
        return none;
      },
      method);
}

RowSet row_set(const CpdMethod& method, std::size_t mode) {
  const std::vector<RowConstraint>& constraints = constraints_of(method);
  return constraints.empty() ? RowSet::all : constraints[mode].set;
}

int count_held(const CpdMethod& method) {
  return static_cast<int>(std::ranges::count_if(constraints_of(method), &RowConstraint::is_held));
}

static void check_held_modes(const TensorSummary& tensor, const CpdOptions& options) {
  const std::vector<RowConstraint>& constraints = constraints_of(options.method);
  if (count_held(options.method) == 0) return;
  if (options.initial == nullptr && options.resume.empty()) {
    refuse("a held mode keeps the factor of a model; give one as " + option_name("initial"));
  }
  if (std::ranges::all_of(constraints, &RowConstraint::is_held)) {
    refuse("all modes are held, so that nothing is left to fit; hold all but one, or fewer");
  }
  if (options.initial == nullptr) return;
  const std::vector<std::uint64_t>& known = options.initial->shape;
  for (std::size_t n = 0; n < std::min(known.size(), constraints.size()); ++n) {
    if (!constraints[n].is_held() || tensor.shape[n] <= known[n]) continue;
    refuse("mode " + std::to_string(n) + " is held, but " + std::to_string(tensor.shape[n] - known[n]) +
           " of its indices are not in the initial model; leave out their entries, or do not hold that mode");
  }
}

void check_method(const TensorSummary& tensor, const CpdOptions& options) {
  const std::vector<RowConstraint>& constraints = constraints_of(options.method);
  if (!constraints.empty() && constraints.size() != tensor.shape.size()) {
    refuse(option_name("constraints") + " has " + std::to_string(constraints.size()) + " entries, but the tensor has " +
           std::to_string(tensor.shape.size()) + " modes; give one per mode");
  }
  const bool is_apr = std::holds_alternative<AprMethod>(options.method);
  const auto is_taken = [&](const RowConstraint& constraint) {
    if (std::holds_alternative<AlsMethod>(options.method)) return !constraint.is_held() || constraint.l1 == 0;
    return constraint == RowConstraint() || constraint == RowConstraint{.set = RowSet::held} ||
           (!is_apr && constraint == RowConstraint{.set = RowSet::nonnegative});
  };
  if (!std::ranges::all_of(constraints, is_taken)) {
    refuse(option_name("method", name_of(options.method)) + " takes no other constraint than " +
           (is_apr ? "" : option_name("nonnegative") + " and ") + option_name("held"));
  }
  check_held_modes(tensor, options);
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
  model.constraints = constraints_of(options.method);
  if (std::holds_alternative<AprMethod>(options.method)) model.loss = {LossKind::poisson, 0};
  if (const auto* gcp = std::get_if<GcpMethod>(&options.method)) model.loss = gcp->loss;
}

bool FitMethod::has_converged(const CpdModel& so_far, const SweepReport* report) const {
  return report != nullptr ? report->converged : so_far.stop_reason == StopReason::tolerance;
}

}  // namespace blco
