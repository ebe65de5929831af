// Which rows of each mode some chunks have: what a worker must know of the factors, and what its outputs fill.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/common/thread_pool.hpp"
#include "engine/work/chunk_share.hpp"
#include "io/container/chunk_source.hpp"
#include "kernels/aligned_buffer.hpp"

namespace blco {

// One bit per row, for each mode from a whole word on.
class TouchedRows {
 public:
  // None.
  explicit TouchedRows(const std::vector<std::uint64_t>& shape, const MemorySource& memory = {});
  // Those of the nonzeros, which are read once; or, without reading them, all between the bounds of the chunks.
  static TouchedRows of_nonzeros(const ChunkSource& chunks, ThreadPool& pool);
  static TouchedRows between_bounds(const ChunkSource& chunks);
  static TouchedRows all(const std::vector<std::uint64_t>& shape);

  // Whether there are any in the range.
  bool any(std::size_t mode, const IndexRange& rows) const { return next(mode, rows) < rows.end; }
  // Calls visit(row) for each of them.
  template <class Visit>
  void for_each(std::size_t mode, const IndexRange& rows, const Visit& visit) const {
    for (std::uint64_t row = rows.begin; (row = next(mode, {row, rows.end})) < rows.end; ++row) visit(row);
  }

  // Those of other chunks too.
  void add(const TouchedRows& others);

  // All bits, as they travel.
  std::span<const std::uint64_t> words() const { return words_; }
  void set_words(std::span<const std::uint64_t> words);

 private:
  // The first of them in the range, or its end.
  std::uint64_t next(std::size_t mode, const IndexRange& rows) const {
    for (std::uint64_t row = rows.begin; row < rows.end; row = (row / 64 + 1) * 64) {
      const std::uint64_t word = words_[first_words_[mode] + row / 64] >> row % 64;
      if (word != 0) return std::min(rows.end, row + static_cast<std::uint64_t>(std::countr_zero(word)));
    }
    return rows.end;
  }
  // Thread-safe.
  void add(std::size_t mode, std::uint64_t row);

  std::vector<std::size_t> first_words_;  // of each mode, and the end of the last
  std::vector<std::uint64_t> words_;
};

}  // namespace blco
