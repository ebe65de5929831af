// Sorts nonzeros by their coordinates, the modes in any order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "blco/executor.hpp"
#include "kernels/csf/coordinate_lists.hpp"

namespace blco {

// The nonzeros' numbers in lexicographic order of their coordinates in `modes`, first mode first; equal ones keep their
// order. A radix sort on the executor's threads, of as many digits as the lengths of the modes need. Modes that are not
// listed do not count. Takes 4 bytes per nonzero beside the result. Requires fewer than 2^32 nonzeros.
std::vector<std::uint32_t> sorted_by(const CoordinateLists& tensor, std::span<const int> modes, Executor& executor);

}  // namespace blco
