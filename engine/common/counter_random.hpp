// A counter-based generator: random numbers addressed by position, so that threads need no shared state.
#pragma once

#include <cstdint>

namespace blco {

// The finaliser of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014): a bijection on 64 bits with random-looking output.
constexpr std::uint64_t scramble(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// A random sequence, selected by (seed, number), that can be read at any position.
class RandomStream {
 public:
  constexpr RandomStream(std::uint64_t seed, std::uint64_t number)
      : start_(scramble(scramble(seed + golden) + number * 0xd1342543de82ef95u)) {}

  constexpr std::uint64_t bits(std::uint64_t at) const { return scramble(start_ + (at + 1) * golden); }
  // Uniform in [0, 1), 53 bits.
  constexpr double uniform(std::uint64_t at) const { return static_cast<double>(bits(at) >> 11) * 0x1p-53; }

 private:
  static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;

  std::uint64_t start_;
};

}  // namespace blco
