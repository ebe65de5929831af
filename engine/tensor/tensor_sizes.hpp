// What a plan needs to know of a tensor: the sizes of its chunks.
#pragma once

#include <cstdint>
#include <vector>

#include "io/container/chunk_source.hpp"

namespace blco {

struct ChunkSizes {
  std::uint64_t nnz = 0;
  std::uint64_t buffer_bytes = 0;   // in host memory, in whole pages
  std::uint64_t scratch_bytes = 0;  // needed to read the chunk
  std::uint64_t stored_bytes = 0;   // read from disk
  std::uint64_t payload_bytes = 0;  // sent over the link to a device, with what lies between the payloads
  bool is_sorted = false;           // by a mode: it serves its passes alone
};

struct TensorSizes {
  std::vector<ChunkSizes> chunks;
  std::uint64_t table_bytes = 0;  // of the chunk table in memory
  ChunkSizes others = {};         // buffer and scratch of further chunks that are read, but do not stay

  std::uint64_t largest_buffer() const;
  std::uint64_t largest_scratch() const;
  std::uint64_t buffer_bytes() const;  // of all chunks
};

TensorSizes measure_tensor(const ChunkSource& tensor);

}  // namespace blco
