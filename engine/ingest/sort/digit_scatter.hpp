// One level of a stable radix sort: all threads move entries to buckets by some bits of their lines.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "blco/executor.hpp"
#include "engine/ingest/sort/run_entry.hpp"
#include "kernels/aligned_buffer.hpp"

namespace blco {

inline constexpr int max_digit_bits = 11;
inline constexpr std::size_t max_digits = std::size_t{1} << max_digit_bits;

// `bits` bits of a line from bit `from` on, which choose an entry's bucket.
struct Digit {
  int from = 0;
  int bits = 0;

  std::size_t count() const { return std::size_t{1} << bits; }
};

// The highest bits of the lines: so many that a bucket has about a thousand entries, but at most max_digit_bits.
inline Digit first_digit(std::uint64_t entries, int line_bits) {
  constexpr int bucket_bits = 10;
  const int bits = std::clamp(static_cast<int>(std::bit_width(entries)) - bucket_bits, 1, max_digit_bits);
  return {std::max(0, line_bits - bits), std::min(line_bits, bits)};
}

namespace detail {

using Positions = std::array<std::size_t, max_digits>;

// Software write combining: collects entries until they fill cache lines of their bucket, and writes these past the
// caches. So no line is read before it is written, and the caches keep the entries that are being collected.
template <typename Entry>
class CombiningWriter {
 public:
  // The bucket of digit d begins at to[next[d]]. put() advances `next`, which must outlive the writer.
  CombiningWriter(std::span<Entry> to, Positions& next, std::size_t digits)
      : to_(to), next_(&next), first_(next), digits_(digits), groups_(std::make_unique_for_overwrite<Group[]>(digits)) {
    const auto starts_cache_line = [&](std::size_t place) {
      return (reinterpret_cast<std::uintptr_t>(to.data()) + place * sizeof(Entry)) % cache_line_bytes == 0;
    };
    while (shift_ < group_entries && !starts_cache_line(group_entries - shift_)) ++shift_;
  }

  void put(const Entry& entry, std::size_t digit) {
    const std::size_t at = (*next_)[digit]++;
    const std::size_t place = place_of(at);
    groups_[digit].entries[place] = entry;
    if (place == group_entries - 1) flush(digit, at + 1);
  }

  void finish() {
    for (std::size_t digit = 0; digit < digits_; ++digit) {
      const std::size_t end = (*next_)[digit];
      const std::size_t collected = std::min(place_of(end), end - first_[digit]);
      write(digit, end - collected, end);
    }
#if defined(__SSE2__)
    _mm_sfence();
#endif
  }

 private:
  static constexpr std::size_t group_bytes = std::lcm(sizeof(Entry), cache_line_bytes);
  static constexpr std::size_t group_entries = group_bytes / sizeof(Entry);
  struct alignas(cache_line_bytes) Group {
    Entry entries[group_entries];
  };

  // Groups start at cache lines.
  std::size_t place_of(std::size_t at) const { return (at + shift_) % group_entries; }

  // Entries before first_ may belong to another thread, so the first group may be shorter.
  void flush(std::size_t digit, std::size_t end) {
    if (end - first_[digit] < group_entries) return write(digit, first_[digit], end);
    const std::size_t begin = end - group_entries;
#if defined(__SSE2__)
    auto* to = reinterpret_cast<__m128i*>(to_.data() + begin);
    const auto* from = reinterpret_cast<const __m128i*>(groups_[digit].entries);
    for (std::size_t i = 0; i < group_bytes / sizeof(__m128i); ++i) _mm_stream_si128(to + i, _mm_load_si128(from + i));
#else
    write(digit, begin, end);
#endif
  }

  void write(std::size_t digit, std::size_t begin, std::size_t end) {
    const Entry* const from = groups_[digit].entries + place_of(begin);
    std::copy(from, from + (end - begin), to_.data() + begin);
  }

  std::span<Entry> to_;
  Positions* next_;
  Positions first_;
  std::size_t digits_;
  std::size_t shift_ = 0;
  std::unique_ptr<Group[]> groups_;
};

}  // namespace detail

// Moves the entries of all parts to `to`, ordered by their digits; entries of one digit stay in input order. Returns
// where the bucket of each digit begins in `to`, and the end.
// visit(part, sink) calls sink(std::span<const Entry>) for each piece of the part, in order; it is called twice a part.
// Requires: `to` has as many entries as all parts.
template <typename Entry, typename Visit>
std::vector<std::size_t> scatter_by_digit(std::size_t parts, const Visit& visit, std::span<Entry> to, Digit digit,
                                          Executor& executor) {
  std::vector<detail::Positions> next(parts, detail::Positions{});
  executor.run(parts, [&](std::size_t part) {
    detail::Positions& counts = next[part];
    visit(part, [&](std::span<const Entry> entries) {
      for (const Entry& entry : entries) ++counts[digit_of(entry, digit.from, digit.bits)];
    });
  });
  std::vector<std::size_t> begins;
  std::size_t position = 0;
  for (std::size_t d = 0; d < digit.count(); ++d) {
    begins.push_back(position);
    for (detail::Positions& positions : next) position += std::exchange(positions[d], position);
  }
  begins.push_back(position);
  executor.run(parts, [&](std::size_t part) {
    detail::CombiningWriter<Entry> writer(to, next[part], digit.count());
    visit(part, [&](std::span<const Entry> entries) {
      for (const Entry& entry : entries) writer.put(entry, digit_of(entry, digit.from, digit.bits));
    });
    writer.finish();
  });
  return begins;
}

}  // namespace blco
