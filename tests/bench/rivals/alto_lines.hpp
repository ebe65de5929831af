// Nonzeros as line indices (Helal et al., ICS 2021).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "blco/layout.hpp"

namespace blco {

inline constexpr std::size_t alto_modes = 5;  // at most

// The nonzeros [begin, end), and the output to add them to. The target mode comes last. T: double or float.
template <class T>
struct AltoLines {
  const std::uint64_t* lows = nullptr;
  const std::uint64_t* keys = nullptr;  // nullptr: lines have at most 64 bits
  const T* values = nullptr;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::size_t order = 0;
  std::uint64_t stride = 0;  // numbers from one row to the next, in every matrix
  std::array<ModeLayout, alto_modes> modes{};
  std::array<const T*, alto_modes - 1> factors{};
  T* output = nullptr;
};

// value * prod A_m[i_m] is added to the output row of every nonzero, one after the other.
void add_alto_lines(const AltoLines<double>& task);
void add_alto_lines(const AltoLines<float>& task);

}  // namespace blco
