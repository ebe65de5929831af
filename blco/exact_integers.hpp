// Integers that doubles hold exactly.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "blco/host_device.hpp"

namespace blco {

// 2^53: integers below it are exact, and so are sums of them, in any order, that stay below it.
inline constexpr double exact_integer_limit = 9007199254740992.0;

// Whether the codec of integers holds a value, bit for bit: -0 is none.
BLCO_HOST_DEVICE inline bool is_integer(double value) {
  if (!(std::fabs(value) < exact_integer_limit)) return false;
  const auto integer = static_cast<double>(static_cast<std::int64_t>(value));
  std::uint64_t bits = 0;
  std::uint64_t expected = 0;
  std::memcpy(&bits, &integer, sizeof(bits));
  std::memcpy(&expected, &value, sizeof(expected));
  return bits == expected;
}

}  // namespace blco
