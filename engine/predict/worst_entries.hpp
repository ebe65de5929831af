// The entries of the largest likelihood ratios, in memory that does not grow with the input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/aligned_buffer.hpp"

namespace blco {

class WorstEntries {
 public:
  struct Entry {
    double ratio = 0;
    double value = 0;
    double model = 0;
    std::uint64_t number = 0;  // in input order
    std::uint64_t slot = 0;    // of its point
  };

  WorstEntries(std::size_t order, std::uint64_t most);

  // Entries come in input order; of equal ratios the earlier ones stay. Requires: no ratio is NaN.
  void add(std::span<const std::uint64_t> point, double value, double model, double ratio);

  // By falling ratio, then in input order. Call once, at the end.
  std::span<const Entry> sort();
  std::span<const std::uint64_t> point(const Entry& entry) const {
    return {points_.data() + entry.slot * order_, order_};
  }

  static std::uint64_t memory_bytes(std::size_t order, std::uint64_t most) {
    return mapped_bytes(most * sizeof(Entry)) + mapped_bytes(most * order * sizeof(std::uint64_t));
  }

 private:
  std::size_t order_;
  AlignedBuffer<Entry> entries_;  // a heap; the first is the least bad
  AlignedBuffer<std::uint64_t> points_;
  std::uint64_t count_ = 0;
  std::uint64_t seen_ = 0;
};

}  // namespace blco
