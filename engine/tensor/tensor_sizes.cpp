#include "engine/tensor/tensor_sizes.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/aligned_buffer.hpp"

namespace blco {
namespace {

// Each kept chunk has entries in a few tables.
constexpr std::uint64_t table_bytes_per_chunk = 512;

template <class Of>
std::uint64_t sum_of(const std::vector<ChunkSizes>& chunks, const Of& of) {
  return std::accumulate(chunks.begin(), chunks.end(), std::uint64_t{0},
                         [&](std::uint64_t sum, const ChunkSizes& chunk) { return sum + of(chunk); });
}

template <class Of>
std::uint64_t max_of(const std::vector<ChunkSizes>& chunks, const Of& of) {
  return std::accumulate(chunks.begin(), chunks.end(), std::uint64_t{0},
                         [&](std::uint64_t max, const ChunkSizes& chunk) { return std::max(max, of(chunk)); });
}

}  // namespace

std::uint64_t TensorSizes::largest_buffer() const {
  return max_of(chunks, [](const ChunkSizes& chunk) { return chunk.buffer_bytes; });
}
std::uint64_t TensorSizes::largest_scratch() const {
  return max_of(chunks, [](const ChunkSizes& chunk) { return chunk.scratch_bytes; });
}
std::uint64_t TensorSizes::buffer_bytes() const {
  return sum_of(chunks, [](const ChunkSizes& chunk) { return chunk.buffer_bytes; });
}
std::uint64_t TensorSizes::nnz() const {
  return sum_of(chunks, [](const ChunkSizes& chunk) { return chunk.nnz; });
}

TensorSizes measure_tensor(const ChunkSource& tensor) {
  TensorSizes sizes;
  const std::uint64_t count = tensor.info().chunk_count();
  for (std::uint64_t chunk = 0; chunk < count; ++chunk) {
    ChunkSizes one;
    one.nnz = tensor.info().nnz_of_chunk(chunk);
    one.buffer_bytes = mapped_bytes(tensor.buffer_bytes(chunk));
    one.scratch_bytes = tensor.scratch_bytes(chunk);
    for (const StoredExtent& extent : tensor.extents(chunk)) {
      one.stored_bytes += extent.stored_bytes;
      if (extent.payload_bytes > 0) one.payload_bytes = payload_slot_bytes(one.payload_bytes) + extent.payload_bytes;
    }
    sizes.chunks.push_back(one);
  }
  sizes.table_bytes = count * (sizeof(StoredExtents) + 16 * tensor.info().shape.size() + table_bytes_per_chunk);
  return sizes;
}

}  // namespace blco
