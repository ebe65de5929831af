// The nonzeros of a chunk with their bits in another order.
#pragma once

#include <cstdint>

#include "blco/layout.hpp"
#include "engine/ingest/sort/sorted_run.hpp"
#include "engine/tensor/nonzero_reader.hpp"
#include "io/container/chunk_source.hpp"

namespace blco {

class ChunkSort {
 public:
  // `tensor` must outlive this.
  explicit ChunkSort(const ChunkSource& tensor) : tensor_(tensor), decoder_(tensor, Indices::stored) {}

  // Reads a chunk, and replaces `sorted` by its nonzeros in rising order of their lines in `layout`. Any thread. Throws
  // Error: io, corrupt.
  void run(std::uint64_t chunk, const TensorLayout& layout, SortedBatch& sorted) const;
  // The same without values, and faster where a line has one word.
  void run_lines(std::uint64_t chunk, const TensorLayout& layout, SortedBatch& sorted) const;

  // Memory of it all, the result too, where reading a chunk takes `reading_bytes`.
  static std::uint64_t bytes(bool has_high_word, std::uint64_t nnz, std::uint64_t reading_bytes);

 private:
  template <class Entry>
  void sort(std::uint64_t chunk, const TensorLayout& layout, SortedBatch& sorted) const;

  const ChunkSource& tensor_;
  NonzeroDecoder decoder_;
};

}  // namespace blco
