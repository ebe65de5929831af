// Parallel bit extract and deposit: the CPU's instruction where it is fast, a portable loop otherwise, chosen at run
// time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "blco/host_device.hpp"

namespace blco {

// Gathers the bits of `value` under `mask` into the low bits of the result.
BLCO_HOST_DEVICE constexpr std::uint64_t pext_portable(std::uint64_t value, std::uint64_t mask) {
  std::uint64_t result = 0;
  for (std::uint64_t bit = 1; mask != 0; bit <<= 1, mask &= mask - 1) {
    if (value & mask & (~mask + 1)) result |= bit;
  }
  return result;
}

// Spreads the low bits of `value` to the places under `mask`.
BLCO_HOST_DEVICE constexpr std::uint64_t pdep_portable(std::uint64_t value, std::uint64_t mask) {
  std::uint64_t result = 0;
  for (std::uint64_t bit = 1; mask != 0; bit <<= 1, mask &= mask - 1) {
    if (value & bit) result |= mask & (~mask + 1);
  }
  return result;
}

// True where pext and pdep are single fast instructions (BMI2, but not AMD before Zen 3), unless limit_vector_level()
// leaves only portable loops.
bool has_fast_pext();

// Use the instruction where the processor's is fast, else the portable form; both give the same result.
std::uint64_t pext(std::uint64_t value, std::uint64_t mask);
std::uint64_t pdep(std::uint64_t value, std::uint64_t mask);
// pext() of `count` words.
void pext_each(const std::uint64_t* words, std::size_t count, std::uint64_t mask, std::uint64_t* results);

}  // namespace blco
