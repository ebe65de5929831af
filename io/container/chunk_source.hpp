// Chunks that can be read: those of a container on disk, or packed in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "blco/chunk.hpp"
#include "blco/labels.hpp"
#include "io/container/container.hpp"

namespace blco {

// A chunk that several threads read.
class ChunkRead {
 public:
  virtual ~ChunkRead() = default;

  virtual std::size_t pieces() const = 0;
  // Every piece once, in any order and on any thread. Throws nothing: what goes wrong, finish() says.
  virtual void read(std::size_t piece) noexcept = 0;
  // After all of them. Throws as read_chunk does.
  virtual ChunkView finish() = 0;
};

class ChunkSource {
 public:
  virtual ~ChunkSource() = default;

  virtual const ContainerInfo& info() const = 0;
  // `stored_bytes` is what read_chunk reads from disk: 0 for chunks in memory.
  virtual const StoredExtents& extents(std::uint64_t chunk) const = 0;
  // Per mode, the smallest and the largest coordinate in the chunk.
  virtual std::span<const std::uint64_t> lower(std::uint64_t chunk) const = 0;
  virtual std::span<const std::uint64_t> upper(std::uint64_t chunk) const = 0;
  // Per stored index of `mode` the original one; empty where they are the same. Read and checked anew at each call: 4
  // bytes per index, and an eighth of a byte meanwhile. Throws Error: io, corrupt.
  virtual std::vector<std::uint32_t> relabelling(std::uint64_t mode) const = 0;
  // On disk; 0 for chunks in memory.
  virtual std::uint64_t file_bytes() const = 0;
  // Host memory that the payloads of all chunks take already, before any is read.
  virtual std::uint64_t held_bytes() const = 0;

  // Per mode, the memory that its labels take when they are read, 0 for a mode without; empty where no mode has some.
  virtual std::vector<std::uint64_t> label_bytes() const { return {}; }
  // Per mode, read at each call; empty where no mode has some. Throws as read_chunk does.
  virtual std::vector<Labels> labels() const { return {}; }

  // Sizes of the buffer and the scratch that read_chunk needs for this chunk.
  virtual std::uint64_t buffer_bytes(std::uint64_t chunk) const = 0;
  virtual std::uint64_t scratch_bytes(std::uint64_t chunk) const = 0;

  // Brings the payloads of one chunk, each aligned to 64 bytes, to `buffer` (64-byte aligned); the view points into it
  // and into this source. Every frame has been checked. Thread-safe. Throws Error: io, or corrupt naming the place.
  virtual ChunkView read_chunk(std::uint64_t chunk, std::span<std::byte> buffer,
                               std::span<std::byte> scratch) const = 0;
  // The same by pieces; buffer and scratch outlive the read.
  virtual std::unique_ptr<ChunkRead> begin_read(std::uint64_t chunk, std::span<std::byte> buffer,
                                                std::span<std::byte> scratch) const;
  // The chunk will be read soon: where it lies on disk, the system is asked to have it in memory.
  virtual void announce_read(std::uint64_t) const {}

 protected:
  ChunkSource() = default;
  ChunkSource(ChunkSource&&) = default;
  ChunkSource& operator=(ChunkSource&&) = default;
};

}  // namespace blco
