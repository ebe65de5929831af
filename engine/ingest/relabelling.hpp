// New numbers for the indices of each mode, by falling count of entries: counted while the input is read, applied
// before line indices are made.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "blco/executor.hpp"
#include "io/coordinate_reader.hpp"

namespace blco {

class Relabelling {
 public:
  // The most memory that this takes, take_originals() and the making of the numbers included, for modes of these
  // lengths.
  static std::uint64_t memory_bytes(std::span<const std::uint64_t> lengths);

  // Throws Error{invalid_argument} for a mode of more than 2^32 indices.
  static void check_lengths(std::span<const std::uint64_t> lengths);

  // Counts entries, those of equal coordinates each. Coordinates have been checked as above.
  void count(const CoordinateBatch& batch, Executor& executor);

  // Numbers the indices of modes of these lengths: by falling count, equal counts by rising index. No more count()
  // then.
  void finish(std::span<const std::uint64_t> shape);

  // Replaces each coordinate by its new number.
  void apply(CoordinateBatch& batch) const;

  // The old number of one index, found by a search; for messages.
  std::uint64_t original(std::size_t mode, std::uint64_t stored) const;

  // The old number of each new one; empty where they are the same. The mode's numbers are forgotten.
  std::vector<std::uint32_t> take_originals(std::size_t mode);

 private:
  // Numbers of one mode by index: counts, from finish() on the new numbers. In pages, so that a mode can grow without
  // being copied.
  class Column {
   public:
    static constexpr int page_bits = 14;
    static constexpr std::uint64_t page_rows = std::uint64_t{1} << page_bits;

    void extend(std::uint64_t rows);
    std::uint64_t rows() const { return rows_; }
    std::uint32_t& operator[](std::uint64_t row) { return pages_[row >> page_bits][row % page_rows]; }
    std::uint32_t operator[](std::uint64_t row) const { return pages_[row >> page_bits][row % page_rows]; }

   private:
    std::vector<std::unique_ptr<std::uint32_t[]>> pages_;
    std::uint64_t rows_ = 0;
  };

  static std::vector<std::uint32_t> order_by_count(const Column& counts);

  std::vector<Column> columns_;
};

}  // namespace blco
