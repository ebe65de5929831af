// Which rows of each mode some chunks have: what a worker must know of the factors, and what its outputs fill.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/common/thread_pool.hpp"
#include "io/container/chunk_source.hpp"

namespace blco {

// One bit per row, for each mode from a whole word on.
class TouchedRows {
 public:
  // None.
  explicit TouchedRows(const std::vector<std::uint64_t>& shape);
  // Those of the nonzeros, which are read once; or, without reading them, all between the bounds of the chunks.
  static TouchedRows of_nonzeros(const ChunkSource& chunks, ThreadPool& pool);
  static TouchedRows between_bounds(const ChunkSource& chunks);

  static std::uint64_t bytes(const std::vector<std::uint64_t>& shape);

  bool has(std::size_t mode, std::uint64_t row) const {
    return (words_[first_words_[mode] + row / 64] >> row % 64 & 1) != 0;
  }
  // Of rows from `begin` to `end` - 1.
  std::uint64_t count(std::size_t mode, std::uint64_t begin, std::uint64_t end) const;
  // Calls visit(row) for each of these.
  template <class Visit>
  void for_each(std::size_t mode, std::uint64_t begin, std::uint64_t end, const Visit& visit) const {
    for (std::uint64_t row = begin; row < end; ++row) {
      if (has(mode, row)) visit(row);
    }
  }

  // All bits, as they travel.
  std::span<const std::uint64_t> words() const { return words_; }
  void set_words(std::span<const std::uint64_t> words);

 private:
  // Thread-safe.
  void add(std::size_t mode, std::uint64_t row);

  std::vector<std::size_t> first_words_;  // of each mode
  std::vector<std::uint64_t> words_;
};

}  // namespace blco
