// Reads the chunks of a BLCO container by pread, without HDF5's filters and outside its lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "blco/chunk.hpp"
#include "io/container/chunk_source.hpp"
#include "io/container/container.hpp"

namespace blco {

class ContainerReader final : public ChunkSource {
 public:
  // Reads and checks the metadata. Throws Error{io} if the file cannot be read, Error{invalid_argument} if it is not
  // a BLCO container or of a version that this build does not know, Error{corrupt} if it is damaged or incomplete.
  explicit ContainerReader(const std::filesystem::path& path);
  ~ContainerReader() override;
  ContainerReader(ContainerReader&&) noexcept;
  ContainerReader& operator=(ContainerReader&&) noexcept;

  const std::filesystem::path& path() const;
  const ContainerInfo& info() const override;
  std::uint64_t file_bytes() const override;
  const StoredExtents& extents(std::uint64_t chunk) const override;
  std::span<const std::uint64_t> lower(std::uint64_t chunk) const override;
  std::span<const std::uint64_t> upper(std::uint64_t chunk) const override;
  std::vector<std::uint32_t> relabelling(std::uint64_t mode) const override;
  std::uint64_t held_bytes() const override { return 0; }
  std::vector<std::uint64_t> label_bytes() const override;
  std::vector<Labels> labels() const override;

  // Size of the buffer that read_chunk needs for this chunk: its payloads, each aligned to 64 bytes.
  std::uint64_t buffer_bytes(std::uint64_t chunk) const override;
  // Size of the scratch that read_chunk needs: the largest stored form of one of its compressed columns, or the
  // payload of its values where they may be byte-shuffled, or 0.
  std::uint64_t scratch_bytes(std::uint64_t chunk) const override;

  // Reads, decompresses and verifies one chunk into `buffer` (64-byte aligned, at least
  // buffer_bytes(chunk)); the view points into it and into this reader. Thread-safe. Where header or
  // checksum disagree, the chunk table's addresses are asked from HDF5 once more, and if that does not help,
  // throws Error{corrupt} naming file, chunk and column. Every frame of the payloads has been checked.
  ChunkView read_chunk(std::uint64_t chunk, std::span<std::byte> buffer, std::span<std::byte> scratch) const override;
  std::unique_ptr<ChunkRead> begin_read(std::uint64_t chunk, std::span<std::byte> buffer,
                                        std::span<std::byte> scratch) const override;
  void announce_read(std::uint64_t chunk) const override;

 private:
  void check_room(std::uint64_t chunk, std::span<std::byte> buffer, std::span<std::byte> scratch) const;

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace blco
