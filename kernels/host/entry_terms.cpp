// Rules over vectors of numbers, compiled once per instruction set.
#include "kernels/host/entry_terms.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/highway_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/entry_terms.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// Must come after foreach_target.h:
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<double, 8>;
using Vector = hn::Vec<Tag>;

using Entries = std::array<double, most_entries>;

constexpr std::size_t partial_sums = 8;

// A vector of numbers where the rules of pass_request.hpp take one number. These are compiled for any processor and so
// must not pass a vector in registers: copies that are not trivial go through memory, or none is left after inlining.
struct LaneNumber {
  LaneNumber() = default;
  HWY_ATTR LaneNumber(const LaneNumber& other) : lanes(other.lanes) {}
  HWY_ATTR LaneNumber& operator=(const LaneNumber& other) {
    lanes = other.lanes;
    return *this;
  }
  HWY_ATTR explicit LaneNumber(Vector numbers) : lanes(numbers) {}
  HWY_ATTR explicit LaneNumber(double number) : lanes(hn::Set(Tag(), number)) {}

  Vector lanes;
};

LaneNumber operator+(const LaneNumber& a, const LaneNumber& b) { return LaneNumber(hn::Add(a.lanes, b.lanes)); }
LaneNumber operator-(const LaneNumber& a, const LaneNumber& b) { return LaneNumber(hn::Sub(a.lanes, b.lanes)); }
LaneNumber operator*(const LaneNumber& a, const LaneNumber& b) { return LaneNumber(hn::Mul(a.lanes, b.lanes)); }
LaneNumber operator/(const LaneNumber& a, const LaneNumber& b) { return LaneNumber(hn::Div(a.lanes, b.lanes)); }

LaneNumber lesser(const LaneNumber& a, const LaneNumber& b) {
  return LaneNumber(hn::IfThenElse(hn::Lt(a.lanes, b.lanes), a.lanes, b.lanes));
}
LaneNumber greater(const LaneNumber& a, const LaneNumber& b) {
  return LaneNumber(hn::IfThenElse(hn::Gt(a.lanes, b.lanes), a.lanes, b.lanes));
}
LaneNumber abs(const LaneNumber& x) { return LaneNumber(hn::Abs(x.lanes)); }

// Highway's takes finite numbers above 0.
LaneNumber log(const LaneNumber& x) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Vector zero = hn::Zero(Tag());
  const Vector above = hn::IfThenElse(hn::Eq(x.lanes, zero), hn::Set(Tag(), -infinity), hn::Log(Tag(), x.lanes));
  const Vector not_a_number = hn::Set(Tag(), std::numeric_limits<double>::quiet_NaN());
  const Vector finite = hn::IfThenElse(hn::Lt(x.lanes, zero), not_a_number, above);
  // Of infinity and of what is not a number: the argument itself.
  return LaneNumber(hn::IfThenElse(hn::Lt(x.lanes, hn::Set(Tag(), infinity)), finite, x.lanes));
}

// Highway's takes numbers, but none so large that their exponents overflow.
LaneNumber exp(const LaneNumber& x) {
  const Vector far = hn::Set(Tag(), 1000.0);  // and beyond: the result overflows or vanishes
  const Vector held = hn::Clamp(x.lanes, hn::Neg(far), far);
  return LaneNumber(hn::IfThenElse(hn::Eq(x.lanes, x.lanes), hn::Exp(Tag(), held), x.lanes));
}

// Of x >= 0 only.
LaneNumber pow(const LaneNumber& x, const LaneNumber& y) { return exp(y * log(x)); }

// Always whole arrays, so that a nonzero's numbers do not depend on how many there are.
template <class Rule>
HWY_FLATTEN void apply_rule(const Rule& rule, const double* values, const double* models, double* terms,
                            double* weights) {
  for (std::size_t i = 0; i < most_entries; i += hn::MaxLanes(Tag())) {
    LaneNumber term;
    LaneNumber weight;
    rule(LaneNumber(hn::LoadU(Tag(), values + i)), LaneNumber(hn::LoadU(Tag(), models + i)), term, weight);
    hn::Store(term.lanes, Tag(), terms + i);
    hn::Store(weight.lanes, Tag(), weights + i);
  }
}

// As many numbers as an array has; those that are missing are 1. A loop that asks of each whether it is there would
// become masked loads, of which a processor takes hundreds of cycles where they would fault, as beside a null pointer.
const double* whole(const double* numbers, std::size_t count, Entries& held) {
  if (count == most_entries) return numbers;
  held.fill(1.0);
  std::copy_n(numbers, count, held.data());
  return held.data();
}

}  // namespace

double apply_function(const EntryFunction& function, const double* values, const double* models, std::size_t count,
                      double* weights) {
  static constexpr Entries ones = [] {
    Entries numbers{};
    numbers.fill(1.0);
    return numbers;
  }();
  Entries held_values;
  Entries held_models;
  alignas(64) Entries terms;
  alignas(64) Entries held_weights;
  const double* const all_values = values != nullptr ? whole(values, count, held_values) : ones.data();
  const double* const all_models = whole(models, count, held_models);
  with_rule(function,
            [&](const auto& rule) { apply_rule(rule, all_values, all_models, terms.data(), held_weights.data()); });
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
