// Reads the chunks of a BLCO container by pread, bypassing HDF5's filters and its global lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "blco/chunk.hpp"
#include "io/container/chunk_source.hpp"
#include "io/container/container.hpp"

namespace blco {

struct StoredChunks;

// Whether it is a file that says so. Never throws, and does not wait for a pipe.
bool is_container(const std::filesystem::path& path) noexcept;

class ContainerReader final : public ChunkSource {
 public:
  // Reads and checks the metadata. Throws Error: io (cannot be read), invalid_argument (not a BLCO container, or of a
  // version unknown to this build), corrupt (damaged or incomplete).
  explicit ContainerReader(const std::filesystem::path& path);
  // Of a file that is still being written: the chunks that it has so far. `name` is what messages call it.
  ContainerReader(const std::filesystem::path& path, StoredChunks chunks, std::string name);
  ~ContainerReader() override;
  ContainerReader(ContainerReader&&) noexcept;
  ContainerReader& operator=(ContainerReader&&) noexcept;

  const std::filesystem::path& path() const;
  const ContainerInfo& info() const override;
  // Of a copy: also the mode of its order.
  std::string name() const override;
  std::uint64_t file_bytes() const override;
  const StoredExtents& extents(std::uint64_t chunk) const override;
  std::span<const std::uint64_t> lower(std::uint64_t chunk) const override;
  std::span<const std::uint64_t> upper(std::uint64_t chunk) const override;
  const ChunkSource* ordered_copy(std::uint64_t mode) const override;
  std::vector<std::uint32_t> reordering(std::uint64_t mode) const override;
  // Whether the file has its trailer.
  bool has_checksum() const override;
  std::uint64_t held_bytes() const override { return 0; }
  std::vector<std::uint64_t> label_bytes() const override;
  std::vector<Labels> labels() const override;

  // The sum of payload_slot_bytes of the payloads of this chunk.
  std::uint64_t buffer_bytes(std::uint64_t chunk) const override;
  // Size of the largest stored form of a compressed column, or of the values' payload if it may be byte-shuffled, or 0.
  std::uint64_t scratch_bytes(std::uint64_t chunk) const override;

  // Reads, decompresses and verifies one chunk into `buffer` (64-byte aligned, at least buffer_bytes(chunk)); the view
  // points into the buffer and this reader. Thread-safe. If a header or checksum disagrees, asks HDF5 once more for the
  // chunk addresses; if that does not help, throws Error{corrupt} naming file, chunk and column. Every frame of the
  // payloads has been checked. If the scratch has direct_room_bytes more than any chunk needs, the read bypasses the
  // system's cache where the file system can.
  ChunkView read_chunk(std::uint64_t chunk, std::span<std::byte> buffer, std::span<std::byte> scratch) const override;
  std::unique_ptr<ChunkRead> begin_read(std::uint64_t chunk, std::span<std::byte> buffer,
                                        std::span<std::byte> scratch) const override;
  void announce_read(std::uint64_t chunk) const override;

 private:
  void check_room(std::uint64_t chunk, std::span<std::byte> buffer, std::span<std::byte> scratch) const;

  struct Impl;
  explicit ContainerReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace blco
