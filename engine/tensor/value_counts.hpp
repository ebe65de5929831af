// One worker's counts of values; the workers' are added at the end.
#pragma once

#include <blco/statistics.hpp>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace blco {

// Counts up to max_distinct_values different numbers, by open addressing.
class DistinctValues {
 public:
  void add(double value);
  void add_all(const DistinctValues& other);
  std::uint64_t count() const { return count_; }
  bool overflowed() const { return overflowed_; }

 private:
  std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(4 * max_distinct_values);  // bits; 0: free
  bool has_zero_ = false;
  bool overflowed_ = false;
  std::uint64_t count_ = 0;
  double last_ = std::numeric_limits<double>::quiet_NaN();
};

class ValueCounts {
 public:
  static constexpr std::uint64_t bytes = 112 << 10;  // upper bound

  ValueCounts();

  void add(std::span<const double> values);
  void add_all(const ValueCounts& other);

  // All statistics but the mean.
  ValueStatistics result() const;

 private:
  std::vector<std::uint64_t> positive_;  // by exponent
  std::vector<std::uint64_t> negative_;
  std::uint64_t zeros_ = 0;
  double minimum_ = std::numeric_limits<double>::infinity();
  double maximum_ = -std::numeric_limits<double>::infinity();
  bool whole_numbers_ = true;
  DistinctValues distinct_;
};

}  // namespace blco
