// Stable parallel sort of nonzeros by line index: by the highest bits first, so that the rest happens in cache.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
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

namespace radix {

inline constexpr int most_digit_bits = 11;
inline constexpr std::size_t most_digits = std::size_t{1} << most_digit_bits;
// As many entries and their copies stay in a core's own cache.
inline constexpr std::size_t cached_entries = std::size_t{1} << 14;
// Fewer are sorted by insertion.
inline constexpr std::size_t few_entries = 24;

// `bits` bits of the line from bit `from` on.
inline std::size_t digit(const NarrowEntry& entry, int from, int bits) {
  return (entry.low >> from) & ((std::size_t{1} << bits) - 1);
}
inline std::size_t digit(const WideEntry& entry, int from, int bits) {
  std::uint64_t word = from < 64 ? entry.low >> from : entry.high >> (from - 64);
  if (from < 64 && from + bits > 64) word |= entry.high << (64 - from);
  return word & ((std::size_t{1} << bits) - 1);
}

inline bool is_before(const NarrowEntry& a, const NarrowEntry& b) { return a.low < b.low; }
inline bool is_before(const WideEntry& a, const WideEntry& b) {
  return a.high < b.high || (a.high == b.high && a.low < b.low);
}

// The bits in which two lines differ, counted from bit 0 to the highest.
inline int differing_bits(const NarrowEntry& a, const NarrowEntry& b) {
  return static_cast<int>(std::bit_width(a.low ^ b.low));
}
inline int differing_bits(const WideEntry& a, const WideEntry& b) {
  return a.high != b.high ? 64 + static_cast<int>(std::bit_width(a.high ^ b.high))
                          : static_cast<int>(std::bit_width(a.low ^ b.low));
}

template <typename Entry>
void insertion_sort(std::span<Entry> entries) {
  for (std::size_t i = 1; i < entries.size(); ++i) {
    const Entry entry = entries[i];
    std::size_t at = i;
    for (; at > 0 && is_before(entry, entries[at - 1]); --at) entries[at] = entries[at - 1];
    entries[at] = entry;
  }
}

// Sorts a few entries of `from` into `to`.
template <typename Entry>
void insert_all(std::span<const Entry> from, std::span<Entry> to) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Entry entry = from[i];
    std::size_t at = i;
    for (; at > 0 && is_before(entry, to[at - 1]); --at) to[at] = to[at - 1];
    to[at] = entry;
  }
}

template <typename Entry>
void sort_part(std::span<Entry> entries, std::span<Entry> other, int line_bits, bool into_other);

// Scatters by the highest `bits` of the bits to sort by, and sorts the parts by the rest. `Count` holds a position.
template <typename Count, typename Entry>
void scatter_and_sort(std::span<Entry> entries, std::span<Entry> other, int line_bits, int bits, bool into_other) {
  const int from = line_bits - bits;
  std::array<Count, most_digits> ends;
  const std::size_t digits = std::size_t{1} << bits;
  std::fill_n(ends.begin(), digits, Count{0});
  for (const Entry& entry : entries) ++ends[digit(entry, from, bits)];
  Count position = 0;
  for (std::size_t d = 0; d < digits; ++d) position += std::exchange(ends[d], position);
  for (const Entry& entry : entries) other[ends[digit(entry, from, bits)]++] = entry;
  for (std::size_t d = 0, begin = 0; d < digits; ++d) {
    const std::size_t count = ends[d] - begin;
    if (count > 0) sort_part(other.subspan(begin, count), entries.subspan(begin, count), from, !into_other);
    begin = ends[d];
  }
}

// Sorts `entries` by the lowest `line_bits` bits; the result is in `other` if `into_other`.
template <typename Entry>
void sort_part(std::span<Entry> entries, std::span<Entry> other, int line_bits, bool into_other) {
  if (entries.size() <= few_entries) {
    into_other ? insert_all<Entry>(entries, other) : insertion_sort(entries);
    return;
  }
  int differing = 0;
  for (const Entry& entry : entries) differing = std::max(differing, differing_bits(entries[0], entry));
  line_bits = std::min(line_bits, differing);
  if (line_bits == 0) {
    if (into_other) std::copy(entries.begin(), entries.end(), other.begin());
    return;
  }
  if (entries.size() <= cached_entries) {
    // At once to parts of a few entries.
    const int few_parts = static_cast<int>(std::bit_width(entries.size())) - 2;
    scatter_and_sort<std::uint32_t>(entries, other, line_bits, std::min({line_bits, most_digit_bits, few_parts}),
                                    into_other);
  } else {
    // To as many parts as a cache has lines for.
    scatter_and_sort<std::size_t>(entries, other, line_bits, std::min(line_bits, 8), into_other);
  }
}

// Sorts on all threads; the result is in `other` if `into_other`.
template <typename Entry>
void sort_parallel(std::span<Entry> entries, std::span<Entry> other, int line_bits, bool into_other,
                   Executor& executor) {
  const auto parts = static_cast<std::size_t>(executor.width());
  const auto part_of = [&](std::size_t part) {
    const auto begin = [&](std::size_t p) { return entries.size() / parts * p + std::min(p, entries.size() % parts); };
    return entries.subspan(begin(part), begin(part + 1) - begin(part));
  };
  std::vector<int> differing(parts, 0);
  executor.run(parts, [&](std::size_t part) {
    int bits = 0;
    for (const Entry& entry : part_of(part)) bits = std::max(bits, differing_bits(entries[0], entry));
    differing[part] = bits;
  });
  line_bits = std::min(line_bits, *std::max_element(differing.begin(), differing.end()));
  const int bits = std::min(line_bits, most_digit_bits);
  const int from = line_bits - bits;
  using Histogram = std::array<std::size_t, most_digits>;
  std::vector<Histogram> next(parts, Histogram{});
  executor.run(parts, [&](std::size_t part) {
    for (const Entry& entry : part_of(part)) ++next[part][digit(entry, from, bits)];
  });
  std::vector<std::size_t> begins;
  std::size_t position = 0;
  for (std::size_t d = 0; d < std::size_t{1} << bits; ++d) {
    begins.push_back(position);
    for (Histogram& histogram : next) position += std::exchange(histogram[d], position);
  }
  begins.push_back(position);
  executor.run(parts, [&](std::size_t part) {
    for (const Entry& entry : part_of(part)) other[next[part][digit(entry, from, bits)]++] = entry;
  });
  // One thread alone would be long with the large ones.
  const std::size_t most_alone = std::max(cached_entries, entries.size() / (4 * parts));
  const auto count_of = [&](std::size_t d) { return begins[d + 1] - begins[d]; };
  const auto bucket = [&](std::span<Entry> of, std::size_t d) { return of.subspan(begins[d], count_of(d)); };
  const auto is_large = [&](std::size_t d) { return from > 0 && count_of(d) > most_alone; };
  for (std::size_t d = 0; d + 1 < begins.size(); ++d) {
    if (is_large(d)) sort_parallel(bucket(other, d), bucket(entries, d), from, !into_other, executor);
  }
  executor.run(begins.size() - 1, [&](std::size_t d) {
    if (count_of(d) > 0 && !is_large(d)) sort_part(bucket(other, d), bucket(entries, d), from, !into_other);
  });
}

}  // namespace radix

// Sorts `entries` by the lowest `line_bits` bits, in which all lines lie, equal lines staying in their order. `scratch`
// has the same size. The result is in `entries` and does not depend on executor.width().
template <typename Entry>
void radix_sort(std::span<Entry> entries, std::span<Entry> scratch, int line_bits, Executor& executor) {
  if (entries.size() <= radix::cached_entries) {
    if (!entries.empty()) radix::sort_part(entries, scratch, line_bits, false);
  } else {
    radix::sort_parallel(entries, scratch, line_bits, false, executor);
  }
}

}  // namespace blco
