// Counts values by sign and power of two, and the distinct ones.
#include "engine/tensor/value_counts.hpp"

#include <algorithm>
#include <atomic>
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

std::vector<std::vector<SliceWindow>> plan_windows(std::span<const std::uint64_t> shape, std::uint64_t counters) {
  std::vector<std::vector<SliceWindow>> passes(1);
  std::uint64_t room = counters;
  for (std::size_t n = 0; n < shape.size(); ++n) {
    for (std::uint64_t first = 0; first < shape[n];) {
      if (room == 0) {
        passes.emplace_back();
        room = counters;
      }
      const std::uint64_t length = std::min(shape[n] - first, room);
      passes.back().push_back({n, first, length});
      first += length;
      room -= length;
    }
  }
  return passes;
}

SliceCounters::SliceCounters(std::span<const SliceWindow> windows, int workers)
    : windows_(windows.begin(), windows.end()), own_(static_cast<std::size_t>(workers)) {
  for (const SliceWindow& window : windows_) {
    counts_.emplace_back(window.length);
    for (auto& own : own_) own.emplace_back(window.length <= short_window ? window.length : 0);
  }
}

void SliceCounters::add(std::size_t worker, const FrameReader& frames, const LayoutView& layout, std::size_t entries) {
  FrameColumn coordinates;
  for (std::size_t w = 0; w < windows_.size(); ++w) {
    const SliceWindow& window = windows_[w];
    frames.coordinates(layout.modes[window.mode], entries, coordinates);
    const bool is_own = window.length <= short_window;
    std::uint64_t* const counts = is_own ? own_[worker][w].data() : counts_[w].data();
    for (std::size_t i = 0; i < entries; ++i) {
      const std::uint64_t place = coordinates[i] - window.first;  // wraps around below the window
      if (place >= window.length) continue;
      if (is_own) {
        ++counts[place];
      } else {
        std::atomic_ref(counts[place]).fetch_add(1, std::memory_order_relaxed);
      }
    }
  }
}

std::span<const std::uint64_t> SliceCounters::finish(std::size_t w) {
  const std::span<std::uint64_t> counts = counts_[w].span();
  for (auto& own : own_) {
    const std::span<std::uint64_t> part = own[w].span();
    for (std::size_t i = 0; i < part.size(); ++i) counts[i] += part[i];
  }
  return counts;
}

void CountDistribution::add(std::span<const std::uint64_t> counts) {
  for (const std::uint64_t count : counts) {
    ++(count < dense ? slices_[count] : larger_[count]);
    nonzeros_ += count;
  }
  total_ += counts.size();
}

std::uint64_t CountDistribution::at(std::uint64_t rank) const {
  std::uint64_t below = 0;
  for (std::uint64_t count = 0; count < dense; ++count) {
    below += slices_[count];
    if (rank < below) return count;
  }
  for (const auto& [count, slices] : larger_) {
    below += slices;
    if (rank < below) return count;
  }
  return 0;
}

SliceStatistics CountDistribution::result() const {
  SliceStatistics result;
  result.slices = total_;
  result.empty = slices_[0];
  result.minimum = at(0);
  result.maximum = at(total_ - 1);
  result.median = (static_cast<double>(at((total_ - 1) / 2)) + static_cast<double>(at(total_ / 2))) / 2;
  result.mean = static_cast<double>(nonzeros_) / static_cast<double>(total_);

  std::vector<std::uint64_t> buckets(65);
  for (std::uint64_t count = 0; count < dense; ++count) buckets[std::bit_width(count)] += slices_[count];
  for (const auto& [count, slices] : larger_) buckets[std::bit_width(count)] += slices;
  for (auto b = static_cast<std::size_t>(std::bit_width(result.minimum)); b <= std::bit_width(result.maximum); ++b) {
    const std::uint64_t min = b == 0 ? 0 : std::uint64_t{1} << (b - 1);
    result.histogram.push_back({min, b == 0 ? 0 : min + (min - 1), buckets[b]});
  }
  return result;
}

}  // namespace blco
