// A tensor made from coordinate arrays and packed in memory, without a file.
#pragma once

#include <blco/arrow_abi.hpp>
#include <blco/ingest.hpp>
#include <blco/progress.hpp>
#include <blco/tensor.hpp>
#include <string>
#include <vector>

namespace blco {

// save() of <blco/tensor_file.hpp> writes it as a container. Takes the memory that summary() tells for its columns
// (streamed_bytes): at most 25 bytes per nonzero, often 2 to 4. A job counts it in its host budget. Fits and products
// are those of a container with the same entries, bit for bit on one thread.
class MemoryTensor final : public Tensor {
 public:
  // Packs the arrays, which are not needed afterwards. Uses these options: memory_bytes (for everything but the
  // arrays), threads, duplicates, shape, mode_names, chunk_nnz, sorts_on_gpu, reorder. Throws Error: invalid_argument
  // and out_of_memory as ingest_coordinates does, also if the GPU does not hold them all; cancelled by `progress`
  // (stages "read", "sort", "pack").
  explicit MemoryTensor(const CoordinateArrays& arrays, const IngestOptions& options = {},
                        const ProgressCallback& progress = {});
  // The same of a table, as ingest_arrow() of <blco/arrow.hpp> takes it; uses its options too, and takes the stream
  // over.
  explicit MemoryTensor(ArrowArrayStream& stream, const IngestOptions& options, const ProgressCallback& progress = {});

  // As IngestReport has them.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Packed;
  explicit MemoryTensor(Packed packed);

  std::vector<std::string> notes_;
};

}  // namespace blco
