#include "engine/ingest/packed_chunks.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "blco/error.hpp"

namespace blco {

void PackedChunks::append(StoredChunk&& chunk) {
  Chunk added;
  for (std::size_t c = 0; c < column_count; ++c) {
    const StoredPayload& column = chunk.columns[c];
    if (column.bytes.size() != column.payload_bytes) {
      throw Error(ErrorKind::invalid_argument, "a chunk in memory must hold payloads that are not compressed");
    }
    added.extents[c].payload_bytes = column.payload_bytes;
    added.extents[c].filter_mask = column.filter_mask;
    held_bytes_ += column.bytes.capacity();
  }
  added.stored = std::move(chunk);
  chunks_.push_back(std::move(added));
}

void PackedChunks::relabel(std::uint64_t mode, std::vector<std::uint32_t> originals) {
  held_bytes_ += originals.size() * sizeof(std::uint32_t);
  relabellings_.resize(std::max<std::size_t>(relabellings_.size(), mode + 1));
  relabellings_[mode] = std::move(originals);
}

void PackedChunks::finish(ContainerInfo info) {
  info_ = std::move(info);
  for (std::uint64_t mode = 0; mode < relabellings_.size(); ++mode) {
    if (!relabellings_[mode].empty()) info_.relabelled.push_back({mode, 0});
  }
}

std::vector<std::uint32_t> PackedChunks::relabelling(std::uint64_t mode) const {
  return mode < relabellings_.size() ? relabellings_[mode] : std::vector<std::uint32_t>();
}

std::uint64_t PackedChunks::buffer_bytes(std::uint64_t chunk) const {
  std::uint64_t bytes = 0;
  for (const StoredExtent& extent : extents(chunk)) bytes += payload_slot_bytes(extent.payload_bytes);
  return bytes;
}

// Copied rather than shown: a device takes chunks from pinned memory, and the plan is the same as for a container.
ChunkView PackedChunks::read_chunk(std::uint64_t chunk, std::span<std::byte> buffer, std::span<std::byte>) const {
  if (buffer.size() < buffer_bytes(chunk)) {
    throw Error(ErrorKind::invalid_argument, "chunk " + std::to_string(chunk) + " does not fit into the given buffer");
  }
  const Chunk& from = at(chunk);
  ChunkView view;
  view.number = chunk;
  view.nnz = info_.nnz_of_chunk(chunk);
  view.lower = from.stored.lower;
  view.upper = from.stored.upper;
  std::size_t offset = 0;
  for (std::size_t c = 0; c < column_count; ++c) {
    const std::vector<std::byte>& bytes = from.stored.columns[c].bytes;
    if (bytes.empty()) continue;
    std::memcpy(buffer.data() + offset, bytes.data(), bytes.size());
    view.payload[c] = buffer.subspan(offset, bytes.size());
    offset += static_cast<std::size_t>(payload_slot_bytes(bytes.size()));
  }
  return view;
}

}  // namespace blco
