// Stable parallel sort of nonzeros by line index: least significant byte first.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "blco/executor.hpp"

namespace blco {

// A nonzero of a tensor whose lines have up to 64 bits, and of any other.
struct NarrowEntry {
  std::uint64_t low;
  double value;
};
struct WideEntry {
  std::uint64_t low;
  std::uint64_t high;
  double value;
};

inline std::size_t line_byte(const NarrowEntry& entry, int byte) { return entry.low >> (8 * byte) & 255; }
inline std::size_t line_byte(const WideEntry& entry, int byte) {
  return (byte < 8 ? entry.low >> (8 * byte) : entry.high >> (8 * (byte - 8))) & 255;
}

// Sorts `entries` by the lowest `line_bits` bits, equal lines staying in their order. `scratch` has the same size.
// The result is in `entries` and does not depend on executor.width().
template <typename Entry>
void radix_sort(std::span<Entry> entries, std::span<Entry> scratch, int line_bits, Executor& executor) {
  using Histogram = std::array<std::size_t, 256>;
  const auto parts = static_cast<std::size_t>(executor.width());
  const auto part_begin = [&](std::size_t part) {
    return entries.size() / parts * part + std::min(part, entries.size() % parts);
  };
  std::vector<Histogram> histograms(parts);
  std::span<Entry> from = entries;
  std::span<Entry> to = scratch;
  for (int byte = 0; 8 * byte < line_bits; ++byte) {
    executor.run(parts, [&](std::size_t part) {
      Histogram histogram{};
      for (std::size_t i = part_begin(part); i < part_begin(part + 1); ++i) ++histogram[line_byte(from[i], byte)];
      histograms[part] = histogram;
    });
    std::size_t position = 0;
    bool one_digit = false;
    for (std::size_t digit = 0; digit < 256; ++digit) {
      const std::size_t before = position;
      for (Histogram& histogram : histograms) position += std::exchange(histogram[digit], position);
      one_digit = one_digit || (position - before == entries.size());
    }
    if (one_digit) continue;
    executor.run(parts, [&](std::size_t part) {
      Histogram next = histograms[part];
      for (std::size_t i = part_begin(part); i < part_begin(part + 1); ++i)
        to[next[line_byte(from[i], byte)]++] = from[i];
    });
    std::swap(from, to);
  }
  if (from.data() != entries.data()) {
    executor.run(parts, [&](std::size_t part) {
      const std::size_t begin = part_begin(part);
      std::copy(from.begin() + static_cast<std::ptrdiff_t>(begin),
                from.begin() + static_cast<std::ptrdiff_t>(part_begin(part + 1)),
                entries.begin() + static_cast<std::ptrdiff_t>(begin));
    });
  }
}

}  // namespace blco
