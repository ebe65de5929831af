// A sparse tensor as lists of coordinates, from which trees are built.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace blco {

// M nonzeros in any order. Not owned.
struct CoordinateLists {
  std::vector<std::uint64_t> shape;
  std::vector<std::span<const std::uint32_t>> coordinates;  // per mode M numbers from 0
  std::span<const double> values;                           // M; trees are built without them

  int order() const { return static_cast<int>(shape.size()); }
  std::uint64_t nnz() const { return coordinates.empty() ? 0 : coordinates[0].size(); }
};

}  // namespace blco
