// Rules over arrays of numbers, compiled once per instruction set for the compiler to vectorise.
#include "kernels/host/entry_terms.hpp"

#include <array>

#include "kernels/highway_targets.hpp"
#include "kernels/host/lane_number.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/entry_terms.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {
namespace {

constexpr std::size_t partial_sums = 8;

// Always whole arrays, so that a nonzero's numbers do not depend on how many there are.
template <class Rule>
void apply_rule(const Rule& rule, const double* values, const double* models, double* terms, double* weights) {
  for (std::size_t i = 0; i < most_entries; ++i) {
    LaneNumber term;
    LaneNumber weight;
    rule(LaneNumber(values[i]), LaneNumber(models[i]), term, weight);
    terms[i] = term.value;
    weights[i] = weight.value;
  }
}

}  // namespace

double apply_function(const EntryFunction& function, const double* values, const double* models, std::size_t count,
                      double* weights) {
  alignas(64) std::array<double, most_entries> terms;
  alignas(64) std::array<double, most_entries> held_values;
  alignas(64) std::array<double, most_entries> held_models;
  alignas(64) std::array<double, most_entries> held_weights;
  for (std::size_t i = 0; i < most_entries; ++i) held_values[i] = values != nullptr && i < count ? values[i] : 1.0;
  for (std::size_t i = 0; i < most_entries; ++i) held_models[i] = i < count ? models[i] : 1.0;
  with_rule(function, [&](const auto& rule) {
    apply_rule(rule, held_values.data(), held_models.data(), terms.data(), held_weights.data());
  });
  for (std::size_t i = 0; i < count; ++i) weights[i] = function.scale * held_weights[i];
  std::array<double, partial_sums> sums{};
  for (std::size_t i = 0; i < most_entries; i += partial_sums) {
    for (std::size_t j = 0; j < partial_sums; ++j) sums[j] += i + j < count ? terms[i + j] : 0.0;
  }
  return function.scale * (((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7])));
}

}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blco {

HWY_EXPORT(apply_function);

double entry_terms(const EntryFunction& function, const double* values, const double* models, std::size_t count,
                   double* weights) {
  return HWY_DYNAMIC_DISPATCH(apply_function)(function, values, models, count, weights);
}

}  // namespace blco
#endif  // HWY_ONCE
