// The chunks of a tensor packed in memory, as an uncompressed container holds them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "io/container/chunk_source.hpp"
#include "io/container/container_writer.hpp"

namespace blco {

class PackedChunks final : public ChunkSource {
 public:
  // As ContainerWriter has them; `reorderings` has one list per mode, empty where it is not reordered. Requires:
  // chunks whose payloads are stored without zstd.
  PackedChunks(ContainerInfo info, std::vector<StoredChunk> chunks, std::vector<std::vector<std::uint32_t>> reorderings,
               std::vector<Labels> labels);

  // Takes a copy in the order of `mode`, which has no reorderings of its own.
  void add_copy(std::uint64_t mode, std::unique_ptr<PackedChunks> copy);

  const ContainerInfo& info() const override { return info_; }
  std::vector<std::uint32_t> reordering(std::uint64_t mode) const override;
  const StoredExtents& extents(std::uint64_t chunk) const override { return extents_[chunk]; }
  std::span<const std::uint64_t> lower(std::uint64_t chunk) const override { return chunks_[chunk].lower; }
  std::span<const std::uint64_t> upper(std::uint64_t chunk) const override { return chunks_[chunk].upper; }
  std::uint64_t file_bytes() const override { return 0; }
  std::uint64_t held_bytes() const override;
  const ChunkSource* ordered_copy(std::uint64_t mode) const override;
  std::vector<std::uint64_t> label_bytes() const override;
  std::vector<Labels> labels() const override { return labels_; }

  std::uint64_t buffer_bytes(std::uint64_t chunk) const override;
  std::uint64_t scratch_bytes(std::uint64_t) const override { return 0; }
  ChunkView read_chunk(std::uint64_t chunk, std::span<std::byte> buffer, std::span<std::byte> scratch) const override;

 private:
  ContainerInfo info_;
  std::vector<StoredChunk> chunks_;
  std::vector<StoredExtents> extents_;  // per chunk
  std::vector<std::vector<std::uint32_t>> reorderings_;
  std::vector<Labels> labels_;
  std::map<std::uint64_t, std::unique_ptr<PackedChunks>> copies_;  // by mode
  const PackedChunks* natural_ = nullptr;                          // of a copy: the one that holds it
  std::uint64_t held_bytes_ = 0;                                   // without copies
};

}  // namespace blco
