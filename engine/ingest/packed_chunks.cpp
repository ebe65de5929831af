// Sizes and places of packed chunks, and those of their copies.
#include "engine/ingest/packed_chunks.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "blco/error.hpp"

namespace blco {

PackedChunks::PackedChunks(ContainerInfo info, std::vector<StoredChunk> chunks,
                           std::vector<std::vector<std::uint32_t>> reorderings, std::vector<Labels> labels)
    : info_(std::move(info)),
      chunks_(std::move(chunks)),
      reorderings_(std::move(reorderings)),
      labels_(std::move(labels)) {
  for (const StoredChunk& chunk : chunks_) {
    StoredExtents extents{};
    for (std::size_t c = 0; c < column_count; ++c) {
      extents[c].payload_bytes = chunk.columns[c].payload_bytes;
      extents[c].filter_mask = chunk.columns[c].filter_mask;
      held_bytes_ += chunk.columns[c].bytes.capacity();
    }
    extents_.push_back(extents);
  }
  for (std::uint64_t mode = 0; mode < reorderings_.size(); ++mode) {
    held_bytes_ += reorderings_[mode].size() * sizeof(std::uint32_t);
    if (!reorderings_[mode].empty()) info_.reordered.push_back({mode, 0});
  }
}

void PackedChunks::add_copy(std::uint64_t mode, std::unique_ptr<PackedChunks> copy) {
  copy->natural_ = this;
  copies_[mode] = std::move(copy);
}

std::vector<std::uint32_t> PackedChunks::reordering(std::uint64_t mode) const {
  return natural_ != nullptr ? natural_->reordering(mode) : reorderings_[mode];
}

std::uint64_t PackedChunks::held_bytes() const {
  std::uint64_t bytes = held_bytes_;
  for (const auto& [mode, copy] : copies_) bytes += copy->held_bytes();
  return bytes;
}

const ChunkSource* PackedChunks::ordered_copy(std::uint64_t mode) const {
  const auto copy = copies_.find(mode);
  return copy == copies_.end() ? nullptr : copy->second.get();
}

std::vector<std::uint64_t> PackedChunks::label_bytes() const {
  std::vector<std::uint64_t> bytes;
  for (const Labels& mode : labels_) bytes.push_back(mode.memory_bytes());
  return bytes;
}

std::uint64_t PackedChunks::buffer_bytes(std::uint64_t chunk) const {
  std::uint64_t bytes = 0;
  for (const StoredExtent& extent : extents_[chunk]) bytes += payload_slot_bytes(extent.payload_bytes);
  return bytes;
}

// Copied rather than shown: a device takes chunks from pinned memory, and the plan is the same as for a container.
ChunkView PackedChunks::read_chunk(std::uint64_t chunk, std::span<std::byte> buffer, std::span<std::byte>) const {
  if (buffer.size() < buffer_bytes(chunk)) {
    throw Error(ErrorKind::invalid_argument, "chunk " + std::to_string(chunk) + " does not fit into the given buffer");
  }
  const StoredChunk& from = chunks_[chunk];
  ChunkView view;
  view.number = chunk;
  view.nnz = info_.nnz_of_chunk(chunk);
  view.lower = from.lower;
  view.upper = from.upper;
  std::size_t offset = 0;
  for (std::size_t c = 0; c < column_count; ++c) {
    const std::vector<std::byte>& bytes = from.columns[c].bytes;
    if (bytes.empty()) continue;
    std::memcpy(buffer.data() + offset, bytes.data(), bytes.size());
    view.payload[c] = buffer.subspan(offset, bytes.size());
    offset += static_cast<std::size_t>(payload_slot_bytes(bytes.size()));
  }
  return view;
}

}  // namespace blco
