// Statistics of a tensor: its values, and the number of nonzeros in each slice of each mode.
#pragma once

#include <blco/memory_budget.hpp>
#include <blco/progress.hpp>
#include <blco/tensor_file.hpp>
#include <cstdint>
#include <vector>

namespace blco {

inline constexpr std::uint64_t max_distinct_values = 1024;

// Counts values of one sign between two neighbouring powers of two: lower <= value < upper if positive, upper < value
// <= lower if negative (both bounds are negative then). For zero both bounds are 0.
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
  bool whole_numbers = false;          // true if all values are whole
  std::uint64_t distinct = 0;          // at most max_distinct_values; -0 and 0 count as one
  bool more_distinct = false;          // true if there are more than max_distinct_values
  std::vector<ValueBucket> histogram;  // ascending, without empty buckets
};

// Counts slices with `min` to `max` nonzeros; the buckets are 0, 1, 2 to 3, 4 to 7, ...
struct SliceBucket {
  std::uint64_t min = 0;
  std::uint64_t max = 0;
  std::uint64_t slices = 0;

  friend bool operator==(const SliceBucket&, const SliceBucket&) = default;
};

// Nonzeros per slice of one mode, over all its slices, empty ones included.
struct SliceStatistics {
  std::uint64_t slices = 0;  // the mode's length
  std::uint64_t empty = 0;
  std::uint64_t minimum = 0;
  std::uint64_t maximum = 0;
  double median = 0;  // mean of the middle two if the number of slices is even
  double mean = 0;
  std::vector<SliceBucket> histogram;  // ascending, from the first to the last bucket that is not empty
};

struct TensorStatistics {
  ValueStatistics values;
  std::vector<SliceStatistics> modes;
  int passes = 0;  // how many times the chunks were read
};

// Reads every chunk, in parallel. The numbers do not depend on threads or budget.
// Memory, within the budget: one chunk per thread, 8 bytes per coordinate of each mode, half a MiB per mode and thread,
// and a tensor in memory itself. If the budget does not hold the counts of all coordinates at once, the chunks are read
// several times, each time for a part of the coordinates. `threads` 0 means one per processor; fewer are used if the
// budget holds no more. Throws Error: out_of_memory (naming the smallest budget that suffices), corrupt, io, cancelled.
TensorStatistics measure_statistics(const Tensor& tensor, const MemoryBudget& budget = {}, int threads = 0,
                                    const ProgressCallback& progress = {});

}  // namespace blco
