// Stable parallel sort of nonzeros by line index. The highest bits come first, so that the rest happens in cache.
#pragma once

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "blco/executor.hpp"
#include "blco/raw_vector.hpp"
#include "engine/ingest/sort/run_entry.hpp"
#include "kernels/aligned_buffer.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

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

namespace detail {

// So many entries, with the words that they are sorted by, stay in a core's own cache.
inline constexpr std::size_t cached_entries = std::size_t{1} << 15;
// So many or fewer are sorted by insertion.
inline constexpr std::size_t few_entries = 24;

// Sorts a few entries of `from` into `to`, which may be the same memory.
template <typename Entry>
void insert_all(std::span<const Entry> from, std::span<Entry> to) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Entry entry = from[i];
    std::size_t at = i;
    for (; at > 0 && is_before(entry, to[at - 1]); --at) to[at] = to[at - 1];
    to[at] = entry;
  }
}

// Sorts buckets on one thread, from an array into itself or into another.
template <typename Entry>
class BucketSorter {
 public:
  // Sorts `entries` by the lowest `line_bits` bits; the result is in `other` if `into_other`.
  void sort(std::span<Entry> entries, std::span<Entry> other, int line_bits, bool into_other) {
    const std::span<Entry> result = into_other ? other : entries;
    if (entries.size() <= few_entries) return insert_all<Entry>(entries, result);
    line_bits = std::min(line_bits, differing_bits(entries, entries[0]));
    const int place_bits = static_cast<int>(std::bit_width(entries.size() - 1));
    if (line_bits == 0) {
      if (into_other) std::copy(entries.begin(), entries.end(), other.begin());
    } else if (entries.size() <= cached_entries && line_bits + place_bits <= 64) {
      sort_by_words(entries, result, line_bits, place_bits);
    } else {
      scatter_and_sort(entries, other, line_bits, into_other);
    }
  }

 private:
  // A word holds the bits of the line that differ, and the entry's place: so words are distinct, and equal lines stay
  // in order.
  void sort_by_words(std::span<const Entry> entries, std::span<Entry> result, int line_bits, int place_bits) {
    const std::uint64_t differing = (std::uint64_t{1} << line_bits) - 1;
    const std::uint64_t place = (std::uint64_t{1} << place_bits) - 1;
    const std::span<std::uint64_t> words = std::span(words_).first(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      words[i] = (entries[i].low & differing) << place_bits | i;
      values_[i] = entries[i].value;
    }
    sorter_(words.data(), words.size(), hwy::SortAscending());
    Entry entry = entries[0];
    const std::uint64_t common = entry.low & ~differing;
    for (std::size_t i = 0; i < words.size(); ++i) {
      entry.low = common | words[i] >> place_bits;
      entry.value = values_[words[i] & place];
      result[i] = entry;
    }
  }

  // Into 256 parts: a cache has lines for so many at a time.
  void scatter_and_sort(std::span<Entry> entries, std::span<Entry> other, int line_bits, bool into_other) {
    constexpr int max_bits = 8;
    const int bits = std::min(line_bits, max_bits);
    const int from = line_bits - bits;
    std::array<std::size_t, std::size_t{1} << max_bits> ends{};
    for (const Entry& entry : entries) ++ends[digit_of(entry, from, bits)];
    std::size_t position = 0;
    for (std::size_t& end : ends) position += std::exchange(end, position);
    for (const Entry& entry : entries) other[ends[digit_of(entry, from, bits)]++] = entry;
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      if (end > begin) {
        sort(other.subspan(begin, end - begin), entries.subspan(begin, end - begin), from, !into_other);
      }
      begin = end;
    }
  }

  // Highway's vectorised quicksort (Wassenberg et al., Vectorized and performance-portable Quicksort, 2022).
  hwy::Sorter sorter_;
  RawVector<std::uint64_t> words_ = RawVector<std::uint64_t>(cached_entries);
  RawVector<double> values_ = RawVector<double>(cached_entries);
};

template <typename Entry>
void sort_buckets(std::span<Entry> entries, std::span<Entry> other, const std::vector<std::size_t>& begins,
                  int line_bits, bool into_other, Executor& executor);

// Sorts one bucket on all threads.
template <typename Entry>
void sort_large(std::span<Entry> entries, std::span<Entry> other, int line_bits, bool into_other, Executor& executor) {
  const auto parts = static_cast<std::size_t>(executor.width());
  const auto part_of = [&](std::size_t part) {
    const std::size_t begin = entries.size() * part / parts;
    return entries.subspan(begin, entries.size() * (part + 1) / parts - begin);
  };
  std::vector<int> differing(parts, 0);
  executor.run(parts, [&](std::size_t part) { differing[part] = differing_bits(part_of(part), entries[0]); });
  const Digit digit = first_digit(entries.size(), std::min(line_bits, *std::ranges::max_element(differing)));
  const auto visit = [&](std::size_t part, const auto& sink) { sink(part_of(part)); };
  const std::vector<std::size_t> begins = scatter_by_digit<Entry>(parts, visit, other, digit, executor);
  sort_buckets(other, entries, begins, digit.from, !into_other, executor);
}

// Sorts each bucket of `entries` by the lowest `line_bits` bits; the result is in `other` if `into_other`.
template <typename Entry>
void sort_buckets(std::span<Entry> entries, std::span<Entry> other, const std::vector<std::size_t>& begins,
                  int line_bits, bool into_other, Executor& executor) {
  constexpr std::size_t groups_per_thread = 8;
  const auto threads = static_cast<std::size_t>(executor.width());
  const std::size_t groups = groups_per_thread * threads;
  const auto bucket = [&](std::span<Entry> of, std::size_t d) {
    return of.subspan(begins[d], begins[d + 1] - begins[d]);
  };
  // Others would wait for a thread that sorts a large bucket alone.
  const std::size_t max_alone = std::max(cached_entries, 2 * entries.size() / groups);
  std::size_t longest_alone = 0;
  const auto is_large = [&](std::size_t d) { return line_bits > 0 && begins[d + 1] - begins[d] > max_alone; };
  for (std::size_t d = 0; d + 1 < begins.size(); ++d) {
    const std::span<Entry> from = bucket(entries, d);
    if (is_large(d)) {
      sort_large(from, into_other ? bucket(other, d) : other.first(from.size()), line_bits, into_other, executor);
    } else {
      longest_alone = std::max(longest_alone, from.size());
    }
  }
  // Where the result does not go there, a thread uses the same piece of `other` again and again: to touch new pages
  // takes longer than to sort.
  const bool has_pieces = !into_other && threads * longest_alone <= other.size();
  // Each group is the buckets that begin in its share of the entries.
  const auto first_in = [&](std::size_t group) {
    const std::size_t at = group == groups ? entries.size() + 1 : entries.size() * group / groups;
    return static_cast<std::size_t>(std::lower_bound(begins.begin(), begins.end() - 1, at) - begins.begin());
  };
  std::atomic<std::size_t> next_group = 0;
  executor.run(threads, [&](std::size_t thread) {
    BucketSorter<Entry> sorter;
    for (std::size_t group = next_group++; group < groups; group = next_group++) {
      const std::size_t end = first_in(group + 1);
      for (std::size_t d = first_in(group); d < end; ++d) {
        if (is_large(d)) continue;
        const std::span<Entry> from = bucket(entries, d);
        sorter.sort(from, has_pieces ? other.subspan(thread * longest_alone, from.size()) : bucket(other, d), line_bits,
                    into_other);
      }
    }
  });
}

}  // namespace detail

// Memory that a thread takes for scattering or sorting so many entries, beside the arrays of entries.
constexpr std::uint64_t sorter_bytes(std::uint64_t entries) {
  return std::min<std::uint64_t>(entries, detail::cached_entries) * (sizeof(std::uint64_t) + sizeof(double));
}

// Sorts each bucket that scatter_by_digit made, by the `line_bits` bits below its digit; equal lines keep their order.
// Of `scratch` only a piece for each thread is touched, as long as the longest bucket, unless these together are longer
// than it, and one for a bucket that is sorted on all threads. The result does not depend on executor.width().
// Requires: `scratch` is as long as `entries`.
template <typename Entry>
void sort_buckets(std::span<Entry> entries, std::span<Entry> scratch, const std::vector<std::size_t>& begins,
                  int line_bits, Executor& executor) {
  detail::sort_buckets(entries, scratch, begins, line_bits, false, executor);
}

}  // namespace blco
