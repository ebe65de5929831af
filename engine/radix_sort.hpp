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

// Moves `from` to `to` in the order of one digit. Returns where each digit's entries end.
template <typename Entry>
void scatter(std::span<const Entry> from, std::span<Entry> to, int first_bit, int bits,
             std::array<std::size_t, most_digits>& ends) {
  const std::size_t digits = std::size_t{1} << bits;
  std::fill_n(ends.begin(), digits, 0);
  for (const Entry& entry : from) ++ends[digit(entry, first_bit, bits)];
  std::size_t position = 0;
  for (std::size_t d = 0; d < digits; ++d) position += std::exchange(ends[d], position);
  for (const Entry& entry : from) to[ends[digit(entry, first_bit, bits)]++] = entry;
}

// Sorts what fits a cache by its lowest `line_bits` bits; the result is in `to` or in `entries`.
template <typename Entry>
void sort_cached(std::span<Entry> entries, std::span<Entry> other, int line_bits, bool into_other) {
  std::array<std::size_t, most_digits> ends;
  const int most_bits = entries.size() < 1024 ? 8 : most_digit_bits;
  const int passes = (line_bits + most_bits - 1) / most_bits;
  for (int pass = 0, from = 0; pass < passes; ++pass) {
    const int bits = (line_bits - from + passes - pass - 1) / (passes - pass);
    scatter<Entry>(entries, other, from, bits, ends);
    std::swap(entries, other);
    into_other = !into_other;
    from += bits;
  }
  if (into_other) std::copy(entries.begin(), entries.end(), other.begin());
}

// Sorts `entries` by the lowest `line_bits` bits; the result is in `other` if `into_other`.
template <typename Entry>
void sort_part(std::span<Entry> entries, std::span<Entry> other, int line_bits, bool into_other) {
  int bits = 0;
  for (const Entry& entry : entries) bits = std::max(bits, differing_bits(entries[0], entry));
  line_bits = std::min(line_bits, bits);
  if (entries.size() <= few_entries) {
    insertion_sort(entries);
    line_bits = 0;
  }
  if (entries.size() <= cached_entries || line_bits <= most_digit_bits) {
    sort_cached(entries, other, line_bits, into_other);
    return;
  }
  const int digit_bits = 8;
  std::array<std::size_t, 257> begins{};
  for (const Entry& entry : entries) ++begins[digit(entry, line_bits - digit_bits, digit_bits) + 1];
  for (std::size_t d = 0; d < 256; ++d) begins[d + 1] += begins[d];
  std::array<std::size_t, 257> next = begins;
  for (const Entry& entry : entries) other[next[digit(entry, line_bits - digit_bits, digit_bits)]++] = entry;
  for (std::size_t d = 0; d < 256; ++d) {
    const std::size_t count = begins[d + 1] - begins[d];
    if (count > 0) {
      sort_part(other.subspan(begins[d], count), entries.subspan(begins[d], count), line_bits - digit_bits,
                !into_other);
    }
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
