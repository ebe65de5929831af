#include "engine/tensor/tensor_sizes.hpp"

#include <algorithm>

#include "kernels/aligned_buffer.hpp"

namespace blco {
namespace {

// Each kept chunk has entries in a few tables.
constexpr std::uint64_t table_bytes_per_chunk = 512;

std::uint64_t sum_of(const std::vector<ChunkSizes>& chunks, std::uint64_t ChunkSizes::*size) {
  std::uint64_t sum = 0;
  for (const ChunkSizes& chunk : chunks) sum += chunk.*size;
  return sum;
}

std::uint64_t largest_of(const std::vector<ChunkSizes>& chunks, std::uint64_t ChunkSizes::*size) {
  return chunks.empty() ? 0 : std::ranges::max(chunks, {}, size).*size;
}

}  // namespace

std::uint64_t TensorSizes::largest_buffer() const {
  return std::max(others.buffer_bytes, largest_of(chunks, &ChunkSizes::buffer_bytes));
}
std::uint64_t TensorSizes::largest_scratch() const {
  return std::max(others.scratch_bytes, largest_of(chunks, &ChunkSizes::scratch_bytes));
}
std::uint64_t TensorSizes::buffer_bytes() const { return sum_of(chunks, &ChunkSizes::buffer_bytes); }

TensorSizes measure_tensor(const ChunkSource& tensor) {
  TensorSizes sizes;
  const std::uint64_t count = tensor.chunk_count();
  for (std::uint64_t chunk = 0; chunk < count; ++chunk) {
    ChunkSizes one;
    one.nnz = tensor.nnz_of_chunk(chunk);
    one.is_sorted = tensor.sorted_by(chunk) >= 0;
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
