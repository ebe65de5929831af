// Sorts nonzeros by line index.
#pragma once

#include <cstdint>
#include <vector>

#include "blco/executor.hpp"
#include "kernels/aligned_buffer.hpp"
#include "tests/bench/rivals/rival.hpp"

namespace blco {

// The line indices (blco/layout.hpp) of a tensor's nonzeros in ascending order, and which nonzero has each.
struct SortedLines {
  AlignedBuffer<std::uint64_t> lows;      // M
  AlignedBuffer<std::uint64_t> keys;      // M, or none if lines have at most 64 bits
  AlignedBuffer<std::uint32_t> nonzeros;  // M numbers of nonzeros of the tensor
};

// A radix sort on the executor's threads. Takes 32 bytes per nonzero beside the result, 48 if there are keys. Throws
// Error{invalid_argument} for lines of more than 128 bits.
SortedLines sort_lines(const RivalTensor& tensor, Executor& executor);

}  // namespace blco
