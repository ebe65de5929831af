// The table of methods: to add one, write its class and its entry, and name them here and in CpdMethod.
#include <algorithm>
#include <blco/cpd_method.hpp>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/fit/methods/fit_method.hpp"
#include "engine/fit/methods/momentum.hpp"

namespace blco {
namespace {

const MethodEntry& entry_of(const AlsMethod&) { return als_method; }
const MethodEntry& entry_of(const AprMethod&) { return apr_method; }
const MethodEntry& entry_of(const CompletionMethod&) { return completion_method; }
const MethodEntry& entry_of(const GcpMethod&) { return gcp_method; }
const MethodEntry& entry_of(const GcpAdamMethod&) { return gcp_adam_method; }

const MethodEntry& entry_of(const CpdMethod& method) {
  return std::visit([](const auto& options) -> const MethodEntry& { return entry_of(options); }, method);
}

// With their defaults.
std::vector<CpdMethod> all_methods() {
  return {AlsMethod(), AprMethod(), GcpMethod(), GcpAdamMethod(), CompletionMethod()};
}

}  // namespace

const MethodTraits& traits_of(const CpdMethod& method) { return entry_of(method).traits; }
const char* name_of(const CpdMethod& method) { return traits_of(method).name; }
bool has_fit(const CpdMethod& method) { return traits_of(method).has_fit; }

std::optional<CpdMethod> find_method(std::string_view name) {
  for (const CpdMethod& method : all_methods()) {
    if (name == name_of(method)) return method;
  }
  return std::nullopt;
}

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const CpdMethod& method : all_methods()) names.emplace_back(name_of(method));
  return names;
}

int max_sweeps_of(const CpdOptions& options) {
  return options.max_sweeps.value_or(traits_of(options.method).usual_sweeps);
}

double tolerance_of(const CpdOptions& options) {
  return options.tolerance.value_or(traits_of(options.method).usual_tolerance);
}

bool has_momentum(const CpdOptions& options) { return options.momentum.value_or(takes_momentum(options.method)); }

const std::vector<RowConstraint>& constraints_of(const CpdMethod& method) {
  static const std::vector<RowConstraint> none;
  return std::visit(
      [](const auto& options) -> const std::vector<RowConstraint>& {
        if constexpr (requires { options.constraints; }) return options.constraints;
        return none;
      },
      method);
}

Loss loss_of(const CpdMethod& method) {
  if (std::holds_alternative<AprMethod>(method)) return {LossKind::poisson};
  return std::visit(
      [](const auto& options) {
        if constexpr (requires { options.loss; }) return options.loss;
        return Loss();
      },
      method);
}

void set_loss(CpdMethod& method, const Loss& loss) {
  std::visit(
      [&](auto& options) {
        if constexpr (requires { options.loss; }) options.loss = loss;
      },
      method);
}

RowSet row_set(const CpdMethod& method, std::size_t mode) {
  const std::vector<RowConstraint>& constraints = constraints_of(method);
  return constraints.empty() ? RowSet::all : constraints[mode].set;
}

bool has_validation(const CpdMethod& method) {
  const auto* const completion = std::get_if<CompletionMethod>(&method);
  return completion != nullptr && completion->validation != nullptr;
}

int count_held(const CpdMethod& method) {
  return static_cast<int>(std::ranges::count_if(constraints_of(method), &RowConstraint::is_held));
}

void check_held_modes(const TensorSummary& tensor, const std::vector<RowConstraint>& constraints,
                      const ModelHeader* initial, bool is_resumed) {
  if (!constraints.empty() && constraints.size() != tensor.shape.size()) {
    refuse(option_name("constraints") + " has " + std::to_string(constraints.size()) + " entries, but the tensor has " +
           std::to_string(tensor.shape.size()) + " modes; give one per mode");
  }
  if (std::ranges::none_of(constraints, &RowConstraint::is_held)) return;
  if (initial == nullptr && !is_resumed) {
    refuse("a held mode keeps the factor of a model; give one as " + option_name("initial"));
  }
  if (initial == nullptr) return;
  const std::vector<std::uint64_t>& known = initial->shape;
  for (std::size_t n = 0; n < std::min(known.size(), constraints.size()); ++n) {
    if (!constraints[n].is_held() || tensor.shape[n] <= known[n]) continue;
    refuse("mode " + std::to_string(n) + " is held, but " + std::to_string(tensor.shape[n] - known[n]) +
           " of its indices are not in the initial model; leave out their entries, or do not hold that mode");
  }
}

void check_method(const TensorSummary& tensor, const CpdOptions& options) {
  const std::vector<RowConstraint>& constraints = constraints_of(options.method);
  if (!constraints.empty() && std::ranges::all_of(constraints, &RowConstraint::is_held)) {
    refuse("all modes are held, so that nothing is left to fit; hold all but one, or fewer");
  }
  check_held_modes(tensor, constraints, options.initial, !options.resume.empty());
  const MethodTraits& traits = traits_of(options.method);
  const auto is_taken = [&](const RowConstraint& constraint) {
    if (traits.takes_any_constraint) return !constraint.is_held() || constraint.l1 == 0;
    return constraint == RowConstraint() || constraint == RowConstraint{.set = RowSet::held} ||
           (traits.takes_nonnegative && constraint == RowConstraint{.set = RowSet::nonnegative});
  };
  if (!std::ranges::all_of(constraints, is_taken)) {
    refuse(option_name("method", traits.name) + " takes no other constraint than " +
           (traits.takes_nonnegative ? option_name("nonnegative") + " and " : "") + option_name("held"));
  }
  if (!traits.takes_ridge && options.ridge > 0) {
    refuse(option_name("ridge") + " belongs to the methods als and complete; leave it out, or use another method");
  }
  if (has_momentum(options) && !takes_momentum(options.method)) {
    refuse(option_name("momentum") +
           " goes with the method als only, and there with modes that are free or nonnegative; leave it out");
  }
  entry_of(options.method).check(tensor, options);
}

ConstantModel check_entries(const Tensor& tensor, const CpdOptions& options, int value_exponent, ProgressMeter& meter) {
  const auto check = entry_of(options.method).check_entries;
  return check != nullptr ? check(tensor, options, value_exponent, meter) : ConstantModel{};
}

MethodNeeds method_needs(const TensorSummary& tensor, const CpdOptions& options) {
  MethodNeeds needs = entry_of(options.method).needs(tensor, options);
  if (has_momentum(options)) Momentum::add_needs(tensor, needs);
  return needs;
}

std::unique_ptr<FitMethod> make_method(const FitContext& context) {
  const MethodEntry& entry = entry_of(context.options.method);
  std::unique_ptr<FitMethod> method = entry.make(context);
  if (!has_momentum(context.options)) return method;
  const std::size_t vectors = entry.needs(context.tensor.summary(), context.options).vectors.size();
  return std::make_unique<Momentum>(context, std::move(method), vectors);
}

void describe_method(const CpdOptions& options, CpdModel& model) {
  model.method = name_of(options.method);
  model.constraints = constraints_of(options.method);
  model.loss = loss_of(options.method);
}

CpdMethod method_of(const CpdModel& model) {
  CpdMethod method = find_method(model.method).value_or(AlsMethod());
  std::visit([&](auto& options) { options.constraints = model.constraints; }, method);
  set_loss(method, model.loss);
  return method;
}

bool has_settled(const ModelHeader& model, double tolerance) {
  const std::vector<double>& fits = model.fit_history;
  const std::size_t sweeps = fits.size();
  return sweeps > 1 && std::abs(fits[sweeps - 1] - fits[sweeps - 2]) < tolerance;
}

bool FitMethod::has_converged(const ModelHeader& so_far, const SweepReport* report) const {
  return report != nullptr ? report->converged : so_far.stop_reason == StopReason::tolerance;
}

}  // namespace blco
