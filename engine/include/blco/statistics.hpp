// What the nonzeros of a tensor are like: their values, and how many lie in each slice of each mode.
#pragma once

#include <blco/memory_budget.hpp>
#include <blco/progress.hpp>
#include <blco/tensor_file.hpp>
#include <cstdint>
#include <vector>

namespace blco {

inline constexpr std::uint64_t max_distinct_values = 1024;

// Values of one sign between two neighbouring powers of two: lower <= |value| < upper. For negative values both bounds
// are negative, -lower the smaller magnitude: upper < value <= lower. For zero both are 0.
struct ValueBucket {
  double lower = 0;
  double upper = 0;
  std::uint64_t count = 0;

  friend bool operator==(const ValueBucket&, const ValueBucket&) = default;
};

struct ValueStatistics {
  double minimum = 0;
  double maximum = 0;
  double mean = 0;
  bool whole_numbers = false;          // all of them
  std::uint64_t distinct = 0;          // at most max_distinct_values; -0 and 0 are one value
  bool more_distinct = false;          // there are more than that
  std::vector<ValueBucket> histogram;  // ascending, empty ones left out
};

// Slices with `least` to `most` nonzeros: 0, 1, 2 to 3, 4 to 7, ...
struct SliceBucket {
  std::uint64_t min = 0;
  std::uint64_t max = 0;
  std::uint64_t slices = 0;

  friend bool operator==(const SliceBucket&, const SliceBucket&) = default;
};

// Nonzeros per slice of one mode, over all its slices, those without any included.
struct SliceStatistics {
  std::uint64_t slices = 0;  // the mode's length
  std::uint64_t empty = 0;
  std::uint64_t minimum = 0;
  std::uint64_t maximum = 0;
  double median = 0;  // of an even number of slices, the mean of the middle two
  double mean = 0;
  std::vector<SliceBucket> histogram;  // ascending, from the first to the last that is not empty
};

struct TensorStatistics {
  ValueStatistics values;
  std::vector<SliceStatistics> modes;
  int passes = 0;  // how often the chunks were read
};

// Reads every chunk, in parallel. Memory: one chunk per thread, 8 bytes for each coordinate of each mode, and half
// a MiB per mode and thread, within the budget: where it does not hold the counts of all coordinates at once,
// the chunks are read several times, each for a part of the coordinates. The numbers do not depend on threads or
// budget. Throws Error: out_of_memory naming the least budget that would do, corrupt, io, cancelled. `threads` 0 is one
// per processor; fewer are taken where the budget holds no more.
TensorStatistics measure_statistics(const TensorFile& tensor, const MemoryBudget& budget = {}, int threads = 0,
                                    const ProgressCallback& progress = {});

}  // namespace blco
