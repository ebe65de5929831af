// Coalesces the values at the same coordinates into one; integers that doubles hold exactly.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "blco/duplicate_policy.hpp"
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

// `value` belongs to the entry that comes first in the input. Under DuplicatePolicy::error the result means nothing;
// under `mean` it is a sum, and under `count` the number of entries if each has the value 1.
BLCO_HOST_DEVICE inline double coalesce_values(DuplicatePolicy policy, double value, double other) {
  switch (policy) {
    case DuplicatePolicy::first:
      return value;
    case DuplicatePolicy::last:
      return other;
    case DuplicatePolicy::max:
      return value < other ? other : value;
    default:
      return value + other;
  }
}

// What becomes of a line's coalesced values in the end.
BLCO_HOST_DEVICE inline double finish_coalesce(DuplicatePolicy policy, double value, std::uint64_t entries) {
  return policy == DuplicatePolicy::mean ? value / static_cast<double>(entries) : value;
}

// Lines of a sorted run; `key` is null for lines of up to 64 bits.
struct LineColumns {
  const std::uint64_t* low = nullptr;
  const std::uint64_t* key = nullptr;
  std::uint64_t count = 0;

  // Whether entry i is the first of its line.
  BLCO_HOST_DEVICE bool is_first(std::uint64_t i) const {
    return i == 0 || low[i] != low[i - 1] || (key != nullptr && key[i] != key[i - 1]);
  }

  // The values of the line that starts at entry i, coalesced left to right; of other entries, the value itself.
  BLCO_HOST_DEVICE double coalesce(DuplicatePolicy policy, const double* values, std::uint64_t i) const {
    double value = values[i];
    if (!is_first(i)) return value;
    std::uint64_t j = i + 1;
    for (; j < count && !is_first(j); ++j) value = coalesce_values(policy, value, values[j]);
    return finish_coalesce(policy, value, j - i);
  }
};

}  // namespace blco
