// The range of some bits over many words, and their order. Gathering bits (pext) preserves their order, so this bounds
// a mode's rows without computing them.
#pragma once

#include <cstdint>
#include <span>

namespace blco {

// Both inclusive. Without words, lower has all bits and upper none.
struct BitRange {
  std::uint64_t lower = 0;
  std::uint64_t upper = 0;
};

// Range of the bits under `mask`.
BitRange range_of_bits(std::span<const std::uint64_t> words, std::uint64_t mask);

// Bits that all words have, and bits that some word has: under any mask a range that holds theirs, if not the smallest.
// Takes a fraction of the time of range_of_bits, and once for all masks.
BitRange box_of_bits(std::span<const std::uint64_t> words);

// Whether word & mask never falls from one word to the next.
bool rises_under(std::span<const std::uint64_t> words, std::uint64_t mask);

}  // namespace blco
