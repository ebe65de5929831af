// A counter-based generator: random numbers by place instead of by sequence.
#pragma once

#include <cstdint>

namespace blco {

// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014, fig. 16, variant 13 of Stafford): a bijection of 64 bits.
constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// The number at place (stream, counter) of the sequence that `seed` names.
constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter) {
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;
  const std::uint64_t key = mix_bits(mix_bits(seed + golden) + golden * (stream + 1));
  return mix_bits(key + golden * (counter + 1));
}

// Uniform in [0, 1), 53 bits.
constexpr double random_uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter) {
  return static_cast<double>(random_bits(seed, stream, counter) >> 11) * 0x1p-53;
}

}  // namespace blco
