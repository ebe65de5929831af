// Keeps the chunks of a tensor packed in memory, as an uncompressed container holds them.
#pragma once

#include <vector>

#include "io/container/chunk_source.hpp"
#include "io/container/container_writer.hpp"

namespace blco {

class PackedChunks final : public ChunkSource {
 public:
  // Takes the next chunk. Requires: its payloads are stored without zstd.
  void append(StoredChunk&& chunk);
  // Sets what info() returns. Requires: all chunks are there; `info` has shape, mode names, nnz, chunk_nnz and sum of
  // squares.
  void finish(ContainerInfo info);

  // As ContainerWriter::relabel().
  void relabel(std::uint64_t mode, std::vector<std::uint32_t> originals);

  const ContainerInfo& info() const override { return info_; }
  std::vector<std::uint32_t> relabelling(std::uint64_t mode) const override;
  const StoredExtents& extents(std::uint64_t chunk) const override { return at(chunk).extents; }
  std::span<const std::uint64_t> lower(std::uint64_t chunk) const override { return at(chunk).stored.lower; }
  std::span<const std::uint64_t> upper(std::uint64_t chunk) const override { return at(chunk).stored.upper; }
  std::uint64_t file_bytes() const override { return 0; }
  std::uint64_t held_bytes() const override { return held_bytes_; }

  std::uint64_t buffer_bytes(std::uint64_t chunk) const override;
  std::uint64_t scratch_bytes(std::uint64_t) const override { return 0; }
  ChunkView read_chunk(std::uint64_t chunk, std::span<std::byte> buffer, std::span<std::byte> scratch) const override;

 private:
  struct Chunk {
    StoredChunk stored;
    StoredExtents extents{};
  };
  const Chunk& at(std::uint64_t chunk) const { return chunks_.at(static_cast<std::size_t>(chunk)); }

  ContainerInfo info_;
  std::vector<Chunk> chunks_;
  std::vector<std::vector<std::uint32_t>> relabellings_;  // per mode; modes behind the last relabelled one are left out
  std::uint64_t held_bytes_ = 0;
};

}  // namespace blco
