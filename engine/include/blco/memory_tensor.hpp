// A tensor made of coordinate arrays, packed in memory: no file is involved.
#pragma once

#include <blco/ingest.hpp>
#include <blco/progress.hpp>
#include <blco/tensor.hpp>

namespace blco {

// Takes as many bytes as the columns of summary() say (streamed_bytes), at most 25 per nonzero and often 2 to 4; a job
// on it counts them in its host budget. Fits and products are those of a container with the same entries, bit for bit
// on one thread.
class MemoryTensor final : public Tensor {
 public:
  // The arrays are not needed afterwards. Of the options memory_bytes (for all that this takes beside the arrays),
  // threads, duplicates, shape, mode_names and chunk_nnz count. Throws Error: invalid_argument and out_of_memory as
  // ingest_coordinates does; cancelled by `progress` (stages "read", "sort", "pack").
  explicit MemoryTensor(const CoordinateArrays& arrays, const IngestOptions& options = {},
                        const ProgressCallback& progress = {});
};

}  // namespace blco
