// The nonzeros of a chunk with their bits in another order.
#pragma once

#include <cstdint>

#include "blco/chunk.hpp"
#include "blco/layout.hpp"
#include "engine/ingest/sort/sorted_run.hpp"
#include "engine/tensor/nonzero_reader.hpp"
#include "io/container/chunk_source.hpp"

namespace blco {

class ChunkSort {
 public:
  // `tensor` must outlive this.
  explicit ChunkSort(const ChunkSource& tensor) : decoder_(tensor, Indices::stored) {}

  // Replaces `sorted` by the chunk's nonzeros in rising order of their lines in `layout`. Any thread. Throws
  // Error{corrupt} for coordinates outside the shape.
  void run(const ChunkView& chunk, const TensorLayout& layout, SortedBatch& sorted) const;
  // The same without values, and faster where a line has one word.
  void run_lines(const ChunkView& chunk, const TensorLayout& layout, SortedBatch& sorted) const;

  // Of the result, and of the work beside it.
  static std::uint64_t result_bytes(bool has_high_word, std::uint64_t nnz);
  static std::uint64_t working_bytes(bool has_high_word, std::uint64_t nnz);

 private:
  NonzeroDecoder decoder_;
};

}  // namespace blco
