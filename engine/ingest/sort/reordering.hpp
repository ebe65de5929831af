// New numbers for the indices of a mode: those that are known only at the end of the input, and those of reordering,
// by falling count of their entries.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "blco/executor.hpp"
#include "io/coordinate_reader.hpp"

namespace blco {

class FinalCoordinates {
 public:
  // Per mode the final coordinate of each coordinate that was read, as CoordinateReader::take_final_coordinates() gives
  // them.
  explicit FinalCoordinates(std::vector<std::vector<std::uint32_t>> modes) : modes_(std::move(modes)) {}

  bool is_empty() const;
  // Whether the mode's coordinates change; then the final one of each.
  bool has(std::size_t mode) const { return mode < modes_.size() && !modes_[mode].empty(); }
  const std::vector<std::uint32_t>& of(std::size_t mode) const { return modes_[mode]; }
  std::uint64_t memory_bytes() const;

  // Replaces each coordinate by the final one; `upper` keeps its values. Any thread.
  void apply(CoordinateBatch& batch) const;

 private:
  std::vector<std::vector<std::uint32_t>> modes_;
};

class Reordering {
 public:
  // Peak memory for modes of these lengths, finish() and take_originals() included.
  static std::uint64_t memory_bytes(std::span<const std::uint64_t> lengths);

  // Throws Error{invalid_argument} if a mode has more than 2^32 indices.
  static void check_lengths(std::span<const std::uint64_t> lengths);

  // Counts the entries of each index; duplicates count each. Requires: check_lengths() has accepted the coordinates.
  void count(const CoordinateBatch& batch, Executor& executor);

  // The counts become those of final coordinates. For a while takes the memory of the longest mode once more, which
  // memory_bytes() has for finish().
  void take_final(const FinalCoordinates& coordinates);

  // Numbers the indices by falling count; of equal counts the smaller index comes first. Requires: no count() later.
  void finish(std::span<const std::uint64_t> shape);

  // Replaces each coordinate by its new number. Any thread. Requires: finish().
  void apply(CoordinateBatch& batch) const;

  // The index that has the new number `stored`; searches the mode, so it is for messages only.
  std::uint64_t original(std::size_t mode, std::uint64_t stored) const;

  // The index of each new number; empty if no number has changed. Forgets the numbers of the mode.
  std::vector<std::uint32_t> take_originals(std::size_t mode);

 private:
  // A number for each index of one mode: its count, and from finish() on its new number. Kept in pages, so that a mode
  // grows without being copied.
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
