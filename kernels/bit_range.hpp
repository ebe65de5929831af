// The range of some bits of many words. What gathers them keeps their order: so a mode's rows are bounded without being
// gathered.
#pragma once

#include <cstdint>
#include <span>

namespace blco {

// Both inclusive; of no words, all bits and none.
struct BitRange {
  std::uint64_t lower = 0;
  std::uint64_t upper = 0;
};

// Of the bits of `mask` alone.
BitRange range_of_bits(std::span<const std::uint64_t> words, std::uint64_t mask);

}  // namespace blco
