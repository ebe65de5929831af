// The entries of the largest deviances, in memory that does not grow with the input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/aligned_buffer.hpp"

namespace blco {

class WorstEntries {
 public:
  struct Entry {
    double deviance = 0;
    double value = 0;
    double model = 0;
    std::uint64_t number = 0;  // in input order
    std::uint64_t slot = 0;    // of its point
  };

  WorstEntries(std::size_t order, std::uint64_t most, const MemorySource& memory = {})
      : order_(order), entries_(most, memory), points_(most * order, memory) {}

  // Entries come in input order; of equal deviances the earlier ones stay. Requires: no deviance is NaN.
  void add(std::span<const std::uint64_t> point, double value, double model, double deviance);

  // By falling deviance, then in input order. Call once, at the end.
  std::span<const Entry> sort();
  std::span<const std::uint64_t> point(const Entry& entry) const {
    return {points_.data() + entry.slot * order_, order_};
  }

 private:
  static bool is_worse(const Entry& a, const Entry& b) {
    return a.deviance != b.deviance ? a.deviance > b.deviance : a.number < b.number;
  }

  std::size_t order_;
  AlignedBuffer<Entry> entries_;  // a heap; the first is the least bad
  AlignedBuffer<std::uint64_t> points_;
  std::uint64_t count_ = 0;
  std::uint64_t seen_ = 0;
};

inline void WorstEntries::add(std::span<const std::uint64_t> point, double value, double model, double deviance) {
  Entry* const begin = entries_.data();
  Entry entry{.deviance = deviance, .value = value, .model = model, .number = seen_++, .slot = count_};
  if (count_ == entries_.size()) {
    if (count_ == 0 || !is_worse(entry, *begin)) return;
    entry.slot = begin->slot;
    std::pop_heap(begin, begin + count_, is_worse);
    begin[count_ - 1] = entry;
  } else {
    begin[count_++] = entry;
  }
  std::ranges::copy(point, points_.data() + entry.slot * order_);
  std::push_heap(begin, begin + count_, is_worse);
}

inline std::span<const WorstEntries::Entry> WorstEntries::sort() {
  std::sort_heap(entries_.data(), entries_.data() + count_, is_worse);
  return {entries_.data(), static_cast<std::size_t>(count_)};
}

}  // namespace blco
