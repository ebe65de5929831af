// Which rows of each mode some chunks have: what a worker must know of the factors, and what its outputs fill.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/common/thread_pool.hpp"
#include "engine/work/rows/chunk_share.hpp"
#include "io/container/chunk_source.hpp"
#include "kernels/aligned_buffer.hpp"
#include "kernels/row_index.hpp"

namespace blco {

// One bit per row, for each mode from a whole word on.
class TouchedRows {
 public:
  static constexpr std::uint64_t word_rows = 64;

  // None.
  explicit TouchedRows(const std::vector<std::uint64_t>& shape, const MemorySource& memory = {});
  // None yet of a range of rows per mode, whose bits are those of all words that have some of them.
  explicit TouchedRows(std::span<const IndexRange> ranges, const MemorySource& memory = {});
  // Those of the nonzeros, which are read once; or, without reading them, all between the bounds of the chunks.
  static TouchedRows of_nonzeros(const ChunkSource& chunks, ThreadPool& pool);
  static TouchedRows between_bounds(const ChunkSource& chunks);
  static TouchedRows all(const std::vector<std::uint64_t>& shape);
  // And these of a mode, or of each mode.
  void add(std::size_t mode, const IndexRange& rows);
  void add(std::span<const IndexRange> rows);

  // How many there are in the range.
  std::uint64_t count(std::size_t mode, const IndexRange& rows) const;
  // Calls visit(row) for each of them.
  template <class Visit>
  void for_each(std::size_t mode, const IndexRange& rows, const Visit& visit) const {
    for (std::uint64_t row = rows.begin; (row = next(mode, {row, rows.end})) < rows.end; ++row) visit(row);
  }

  // How many there are in each unit of rows, of all modes.
  std::vector<double> counts(const std::vector<std::uint64_t>& shape) const;
  // Rows of a unit of a mode of that length: few enough for owners of equal parts.
  static std::uint64_t unit_rows(std::uint64_t length) {
    constexpr std::uint64_t most_units_of_less = 8192;
    return std::min(word_rows, std::bit_ceil((length + most_units_of_less - 1) / most_units_of_less));
  }
  static std::uint64_t units_of(std::uint64_t length) { return (length + unit_rows(length) - 1) / unit_rows(length); }
  // Of each mode, the place of each of them among all of them; null where they are all rows. None if they are more than
  // half of the rows of all modes: places take time, which a part of the memory is not worth.
  std::vector<std::shared_ptr<const RowIndex>> index(const std::vector<std::uint64_t>& shape) const;
  // Those of a range per mode.
  TouchedRows part(std::span<const IndexRange> ranges) const;
  // All bits, as they travel.
  std::span<std::uint64_t> words() { return words_; }

 private:
  // The first of them in the range, or its end.
  std::uint64_t next(std::size_t mode, const IndexRange& rows) const {
    for (std::uint64_t row = rows.begin; row < rows.end; row = (row / word_rows + 1) * word_rows) {
      const std::uint64_t word = words_[word_of(mode, row)] >> row % word_rows;
      if (word != 0) return std::min(rows.end, row + static_cast<std::uint64_t>(std::countr_zero(word)));
    }
    return rows.end;
  }
  // Thread-safe.
  void add(std::size_t mode, std::uint64_t row);
  std::size_t word_of(std::size_t mode, std::uint64_t row) const {
    return places_[mode].first + static_cast<std::size_t>(row / word_rows - places_[mode].first_word);
  }

  // Where the words of a mode begin, and the number of their first one within the mode.
  struct Place {
    std::size_t first = 0;
    std::uint64_t first_word = 0;
  };
  std::vector<Place> places_;
  std::vector<std::uint64_t> words_;
};

}  // namespace blco
