// Loops that do one thing as fast as the processor can: load words, or multiply and add in registers.
#pragma once

#include <cstdint>
#include <span>

namespace blco {

// Sum of all words, times `rounds`, modulo 2^64. Loads all of them in each round by the widest vectors, with as many
// loads on their way as hide the latency.
std::uint64_t sum_words(std::span<const std::uint64_t> words, std::uint64_t rounds);

struct MultiplyAdds {
  std::uint64_t numbers = 0;  // independent of each other
  double flops = 0;           // two per number and step
  double sum = 0;             // of the numbers in the end
};

// Applies x -> x / 2 + 1 `steps` times to the numbers 0, 1, 2, ... by fused multiply-adds in registers, for enough
// numbers to hide the latency. Where the processor has no such instruction, it multiplies and adds.
MultiplyAdds multiply_add_f64(std::uint64_t steps);
MultiplyAdds multiply_add_f32(std::uint64_t steps);

}  // namespace blco
