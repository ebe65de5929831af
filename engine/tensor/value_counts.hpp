// What statistics count: values by size, and nonzeros per slice for a part of the coordinates at a time.
#pragma once

#include <algorithm>
#include <blco/statistics.hpp>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <unordered_set>
#include <vector>

#include "blco/layout.hpp"
#include "engine/tensor/frame_reader.hpp"
#include "kernels/aligned_buffer.hpp"

namespace blco {

// Counts up to max_distinct_values different numbers.
class DistinctValues {
 public:
  void add(double value) {
    if (value == last_ || overflowed()) return;  // mostly one of them
    last_ = value;
    values_.insert(value);
  }
  void add_all(const DistinctValues& other) {
    for (const double value : other.values_) add(value);
  }
  std::uint64_t count() const { return std::min<std::uint64_t>(values_.size(), max_distinct_values); }
  bool overflowed() const { return values_.size() > max_distinct_values; }

 private:
  std::unordered_set<double> values_;  // 0 and -0 are equal
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

// Coordinates [first, first + length) of one mode.
struct SliceWindow {
  std::size_t mode = 0;
  std::uint64_t first = 0;
  std::uint64_t length = 0;
};

// Splits all coordinates of all modes into windows for several traversals of the chunks: each traversal has at most
// `counters` coordinates, and at most one window per mode.
std::vector<std::vector<SliceWindow>> plan_windows(std::span<const std::uint64_t> shape, std::uint64_t counters);

// The counters of one traversal, shared by the workers. Short windows, on which all workers would contend, are counted
// by each worker separately.
class SliceCounters {
 public:
  static constexpr std::uint64_t short_window = 4096;
  static std::uint64_t worker_bytes(std::size_t order) { return order * short_window * sizeof(std::uint64_t); }

  SliceCounters(std::span<const SliceWindow> windows, int workers);

  // Counts the frame whose lines `frames` has read. Workers may call it concurrently.
  void add(std::size_t worker, const FrameReader& frames, const LayoutView& layout, std::size_t entries);

  // The counts of window w. Call after all frames have been added.
  std::span<const std::uint64_t> finish(std::size_t w);

 private:
  std::vector<SliceWindow> windows_;
  std::vector<AlignedBuffer<std::uint64_t>> counts_;            // per window
  std::vector<std::vector<AlignedBuffer<std::uint64_t>>> own_;  // per worker and window, empty for long ones
};

// How often each count occurs, exactly but compactly: with nnz nonzeros, few slices have many.
class CountDistribution {
 public:
  void add(std::span<const std::uint64_t> counts);
  SliceStatistics result() const;
  std::uint64_t nonzeros() const { return nonzeros_; }

 private:
  static constexpr std::uint64_t dense = 1 << 16;

  std::uint64_t at(std::uint64_t rank) const;  // count of the slice with this rank, from 0, by rising count

  std::vector<std::uint64_t> slices_ = std::vector<std::uint64_t>(dense);  // by count
  std::map<std::uint64_t, std::uint64_t> larger_;
  std::uint64_t total_ = 0;
  std::uint64_t nonzeros_ = 0;
};

}  // namespace blco
