// The loop of F-COO's MTTKRP: segmented sums (Liu et al., CLUSTER 2017).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/bench/rivals/coordinate_task.hpp"

namespace blco {

// Parts of a pass per thread, so that threads end together.
inline constexpr std::size_t fcoo_parts_per_thread = 8;

// Segments of a copy of the tensor (fcoo_copies.hpp), and where their sums go.
template <class T>
struct FcooTask {
  CoordinateTask<T> nonzeros;
  const std::uint32_t* bit_flags = nullptr;
  const std::uint32_t* rows = nullptr;  // of each segment
};

// Nonzeros [begin, end), the first of which belongs to `segment`. If `carry` is not null, the first segment began
// before `begin` and its sum goes to `carry`, a padded row.
template <class T>
struct FcooRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t segment = 0;
  T* carry = nullptr;
};

// Adds the sums of the range's segments to the output rows and to the carry. No other range adds to the same rows.
void add_fcoo_segments(const FcooTask<double>& task, const FcooRange<double>& range);
void add_fcoo_segments(const FcooTask<float>& task, const FcooRange<float>& range);

}  // namespace blco
