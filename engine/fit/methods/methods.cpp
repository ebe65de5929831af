// The table of methods: to add one, write its class, and name it here and in CpdMethod.
#include <blco/cpd_method.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "engine/fit/methods/cp_als.hpp"
#include "engine/fit/methods/cp_apr.hpp"
#include "engine/fit/methods/cp_completion.hpp"
#include "engine/fit/methods/fit_method.hpp"
#include "engine/fit/methods/gcp.hpp"

namespace blco {
namespace {

template <class Options>
struct MethodOf;

template <>
struct MethodOf<AlsMethod> {
  using Type = CpAls;
  static constexpr const char* name = "als";
};

template <>
struct MethodOf<AprMethod> {
  using Type = CpApr;
  static constexpr const char* name = "apr";
};

template <>
struct MethodOf<CompletionMethod> {
  using Type = CpCompletion;
  static constexpr const char* name = "complete";
};

template <>
struct MethodOf<GcpMethod> {
  using Type = Gcp;
  static constexpr const char* name = "gcp";
};

// Calls visit(MethodOf<the options' type>()).
template <class Visit>
auto with_method(const CpdMethod& method, const Visit& visit) {
  return std::visit([&](const auto& options) { return visit(MethodOf<std::remove_cvref_t<decltype(options)>>()); },
                    method);
}

}  // namespace

const char* name_of(const CpdMethod& method) {
  return with_method(method, [](auto of) { return decltype(of)::name; });
}

bool is_method(std::string_view name) {
  const auto is_name = [&]<class... Options>(std::type_identity<std::variant<Options...>>) {
    return ((name == MethodOf<Options>::name) || ...);
  };
  return is_name(std::type_identity<CpdMethod>());
}

void check_method(const TensorSummary& tensor, const CpdOptions& options) {
  with_method(options.method, [&](auto of) { decltype(of)::Type::check(tensor, options); });
}

// A method that takes any values has no check_entries.
void check_entries(const Tensor& tensor, const CpdOptions& options, ProgressMeter& meter) {
  with_method(options.method, [&](auto of) {
    using Type = typename decltype(of)::Type;
    if constexpr (requires { Type::check_entries(tensor, options, meter); })
      Type::check_entries(tensor, options, meter);
  });
}

MethodNeeds method_needs(const TensorSummary& tensor, const CpdOptions& options) {
  return with_method(options.method, [&](auto of) { return decltype(of)::Type::needs(tensor, options); });
}

std::unique_ptr<FitMethod> make_method(const FitContext& context) {
  return with_method(context.options.method, [&](auto of) -> std::unique_ptr<FitMethod> {
    using Type = typename decltype(of)::Type;
    // One of several classes, by its options.
    if constexpr (requires { Type::make(context); })
      return Type::make(context);
    else
      return std::make_unique<Type>(context);
  });
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
