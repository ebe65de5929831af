// Lengths of modes by their bits.
#pragma once

#include <cstdint>

namespace blco {

constexpr std::uint64_t two_to(int bits) { return std::uint64_t{1} << bits; }

}  // namespace blco
