// Counts values by sign and power of two, and the distinct ones.
#include "engine/tensor/value_counts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace blco {
namespace {

// Exponents of finite doubles, subnormal ones included.
constexpr int min_exponent = -1074;
constexpr int max_exponent = 1023;
constexpr std::size_t exponents = max_exponent - min_exponent + 1;

std::size_t exponent_of(double value) {
  const auto biased = static_cast<int>(std::bit_cast<std::uint64_t>(value) >> 52 & 0x7ff);
  return static_cast<std::size_t>((biased != 0 ? biased - 1023 : std::ilogb(value)) - min_exponent);
}

double lower_bound_of(std::size_t exponent) { return std::ldexp(1.0, static_cast<int>(exponent) + min_exponent); }

}  // namespace

void DistinctValues::add(double value) {
  if (overflowed_ || value == last_) return;
  last_ = value;
  if (value == 0) {
    count_ += has_zero_ ? 0 : 1;
    has_zero_ = true;
  } else {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    std::size_t slot = (bits * 0x9e3779b97f4a7c15ULL >> 32) % slots_.size();
    while (slots_[slot] != 0 && slots_[slot] != bits) slot = (slot + 1) % slots_.size();
    if (slots_[slot] == bits) return;
    slots_[slot] = bits;
    ++count_;
  }
  if (count_ > max_distinct_values) {
    overflowed_ = true;
    count_ = max_distinct_values;
  }
}

void DistinctValues::add_all(const DistinctValues& other) {
  for (const std::uint64_t bits : other.slots_) {
    if (bits != 0) add(std::bit_cast<double>(bits));
  }
  if (other.has_zero_) add(0.0);
  if (other.overflowed_) {
    overflowed_ = true;
    count_ = max_distinct_values;
  }
}

ValueCounts::ValueCounts() : positive_(exponents), negative_(exponents) {}

void ValueCounts::add(std::span<const double> values) {
  for (const double value : values) {
    minimum_ = std::min(minimum_, value);
    maximum_ = std::max(maximum_, value);
    whole_numbers_ = whole_numbers_ && value == std::trunc(value);
    distinct_.add(value);
    if (value == 0) {
      ++zeros_;
    } else {
      ++(value > 0 ? positive_ : negative_)[exponent_of(value)];
    }
  }
}

void ValueCounts::add_all(const ValueCounts& other) {
  for (std::size_t e = 0; e < exponents; ++e) {
    positive_[e] += other.positive_[e];
    negative_[e] += other.negative_[e];
  }
  zeros_ += other.zeros_;
  minimum_ = std::min(minimum_, other.minimum_);
  maximum_ = std::max(maximum_, other.maximum_);
  whole_numbers_ = whole_numbers_ && other.whole_numbers_;
  distinct_.add_all(other.distinct_);
}

ValueStatistics ValueCounts::result() const {
  ValueStatistics result;
  result.minimum = minimum_;
  result.maximum = maximum_;
  result.whole_numbers = whole_numbers_;
  result.distinct = distinct_.count();
  result.more_distinct = distinct_.overflowed();
  for (std::size_t e = exponents; e-- > 0;) {
    const double lower = lower_bound_of(e);
    if (negative_[e] != 0) result.histogram.push_back({-lower, -2 * lower, negative_[e]});
  }
  if (zeros_ != 0) result.histogram.push_back({0, 0, zeros_});
  for (std::size_t e = 0; e < exponents; ++e) {
    const double lower = lower_bound_of(e);
    if (positive_[e] != 0) result.histogram.push_back({lower, 2 * lower, positive_[e]});
  }
  return result;
}

}  // namespace blco
