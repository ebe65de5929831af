// A sparse tensor as lists of coordinates, and its nonzeros sorted by them, the modes in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blco/executor.hpp"

namespace blco {

// M nonzeros in any order. Not owned.
struct CoordinateLists {
  std::vector<std::uint64_t> shape;
  std::vector<std::span<const std::uint32_t>> coordinates;  // per mode M numbers from 0
  std::span<const double> values;                           // M; trees are built without them

  int order() const { return static_cast<int>(shape.size()); }
  std::uint64_t nnz() const { return coordinates.empty() ? 0 : coordinates[0].size(); }
};

// The nonzeros' numbers in lexicographic order of their coordinates in `modes`, first mode first; equal ones keep their
// order. A radix sort on the executor's threads, of as many digits as the lengths of the modes need. Modes that are not
// listed do not count. Takes 4 bytes per nonzero beside the result. Requires fewer than 2^32 nonzeros.
std::vector<std::uint32_t> sorted_by(const CoordinateLists& tensor, std::span<const int> modes, Executor& executor);

}  // namespace blco
