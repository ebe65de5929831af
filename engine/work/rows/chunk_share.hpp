// One worker's share of a tensor's chunks, as a source of its own.
#pragma once

#include <blco/peers.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "io/container/chunk_source.hpp"

namespace blco {

// Chunks, or rows, from `begin` to `end` - 1.
struct IndexRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

// Of worker `rank`, by its share. Neighbours in line order have few rows of each mode.
IndexRange chunk_range(std::uint64_t chunks, int rank, const Peers& peers);

// Of the shape, of its reorderings, and of the bounds and sizes of all chunks.
std::uint32_t crc_of_chunks(const ChunkSource& tensor);

// The chunks of a range, numbered from 0. Its nonzeros are those of the range, and its indices the stored ones; all
// else is the tensor's.
class ChunkShare final : public ChunkSource {
 public:
  // `tensor` must outlive this.
  ChunkShare(const ChunkSource& tensor, const IndexRange& range);

  const ContainerInfo& info() const override { return info_; }
  std::string name() const override { return tensor_->name(); }
  const StoredExtents& extents(std::uint64_t chunk) const override { return tensor_->extents(first_ + chunk); }
  std::span<const std::uint64_t> lower(std::uint64_t chunk) const override { return tensor_->lower(first_ + chunk); }
  std::span<const std::uint64_t> upper(std::uint64_t chunk) const override { return tensor_->upper(first_ + chunk); }
  std::vector<std::uint32_t> reordering(std::uint64_t) const override { return {}; }
  std::uint64_t file_bytes() const override { return tensor_->file_bytes(); }
  std::uint64_t held_bytes() const override { return tensor_->held_bytes(); }
  std::uint64_t buffer_bytes(std::uint64_t chunk) const override { return tensor_->buffer_bytes(first_ + chunk); }
  std::uint64_t scratch_bytes(std::uint64_t chunk) const override { return tensor_->scratch_bytes(first_ + chunk); }
  ChunkView read_chunk(std::uint64_t chunk, std::span<std::byte> buffer, std::span<std::byte> scratch) const override {
    return tensor_->read_chunk(first_ + chunk, buffer, scratch);
  }
  std::unique_ptr<ChunkRead> begin_read(std::uint64_t chunk, std::span<std::byte> buffer,
                                        std::span<std::byte> scratch) const override {
    return tensor_->begin_read(first_ + chunk, buffer, scratch);
  }
  void announce_read(std::uint64_t chunk) const override { tensor_->announce_read(first_ + chunk); }

 private:
  const ChunkSource* tensor_;
  std::uint64_t first_;
  ContainerInfo info_;
};

}  // namespace blco
