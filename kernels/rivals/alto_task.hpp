// The work of one thread of the ALTO baseline.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "blco/layout.hpp"

namespace blco {

inline constexpr std::size_t alto_modes = 5;  // at most

// The nonzeros [begin, end), and the output to add them to. The target mode comes last.
struct AltoTask {
  const std::uint64_t* lows = nullptr;
  const std::uint64_t* keys = nullptr;  // nullptr: lines have at most 64 bits
  const double* values = nullptr;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::size_t order = 0;
  std::uint64_t rank = 0;
  std::array<ModeLayout, alto_modes> modes{};
  std::array<double*, alto_modes> matrices{};
};

}  // namespace blco
