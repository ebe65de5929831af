// Nonzeros while they are sorted, and the bits of their lines that the sort reads.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace blco {

// Lines of up to 64 bits have narrow entries, longer ones wide entries.
struct alignas(16) NarrowEntry {
  std::uint64_t low;
  double value;
};
struct WideEntry {
  std::uint64_t low;
  std::uint64_t high;
  double value;
};

// `bits` bits of the line from bit `from` on. Requires: from < 128.
inline std::size_t digit_of(const NarrowEntry& entry, int from, int bits) {
  return (entry.low >> from) & ((std::size_t{1} << bits) - 1);
}
inline std::size_t digit_of(const WideEntry& entry, int from, int bits) {
  std::uint64_t word = from < 64 ? entry.low >> from : entry.high >> (from - 64);
  if (from < 64 && from + bits > 64) word |= entry.high << (64 - from);
  return word & ((std::size_t{1} << bits) - 1);
}

inline bool is_before(const NarrowEntry& a, const NarrowEntry& b) { return a.low < b.low; }
inline bool is_before(const WideEntry& a, const WideEntry& b) {
  return a.high < b.high || (a.high == b.high && a.low < b.low);
}

// The width of the differences of all lines from `other`: 1 + the highest bit that differs, or 0.
inline int differing_bits(std::span<const NarrowEntry> entries, const NarrowEntry& other) {
  std::uint64_t low = 0;
  for (const NarrowEntry& entry : entries) low |= entry.low ^ other.low;
  return static_cast<int>(std::bit_width(low));
}
inline int differing_bits(std::span<const WideEntry> entries, const WideEntry& other) {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  for (const WideEntry& entry : entries) {
    low |= entry.low ^ other.low;
    high |= entry.high ^ other.high;
  }
  return high != 0 ? 64 + static_cast<int>(std::bit_width(high)) : static_cast<int>(std::bit_width(low));
}

}  // namespace blco
