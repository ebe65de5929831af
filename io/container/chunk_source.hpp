// A source of chunks: a container on disk, or chunks packed in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "blco/chunk.hpp"
#include "blco/labels.hpp"
#include "io/container/container.hpp"

namespace blco {

// One chunk being read by several threads.
class ChunkRead {
 public:
  virtual ~ChunkRead() = default;

  virtual std::size_t pieces() const = 0;
  // Call once per piece, in any order and on any thread. Failures surface in finish().
  virtual void read(std::size_t piece) noexcept = 0;
  // Call after all pieces. Throws as read_chunk does.
  virtual ChunkView finish() = 0;
};

class ChunkSource {
 public:
  virtual ~ChunkSource() = default;

  virtual const ContainerInfo& info() const = 0;
  // How many chunks it has. A source of several orders has more than info() says.
  virtual std::uint64_t chunk_count() const { return info().chunk_count(); }
  virtual std::uint64_t nnz_of_chunk(std::uint64_t chunk) const { return info().nnz_of_chunk(chunk); }
  // What messages call the tensor: the path of its file.
  virtual std::string name() const { return "the tensor in memory"; }
  // `stored_bytes` is what read_chunk reads from disk; 0 for chunks in memory.
  virtual const StoredExtents& extents(std::uint64_t chunk) const = 0;
  // Of all its columns.
  std::uint64_t stored_bytes(std::uint64_t chunk) const;
  // Per mode, the smallest and the largest coordinate in the chunk.
  virtual std::span<const std::uint64_t> lower(std::uint64_t chunk) const = 0;
  virtual std::span<const std::uint64_t> upper(std::uint64_t chunk) const = 0;
  // The mode in whose order its lines are; -1: in the natural order, or in that of info().
  virtual int sorted_by(std::uint64_t /*chunk*/) const { return -1; }
  // The nonzeros in the order of `mode`, as a source of its own whose info() says its bits; null: there is no such
  // copy.
  virtual const ChunkSource* ordered_copy(std::uint64_t /*mode*/) const { return nullptr; }
  // Original index of each stored index of `mode`; empty if they are the same. Reads and checks at each call. Memory: 4
  // bytes per index, and an eighth of a byte more during the call. Throws Error: io, corrupt.
  virtual std::vector<std::uint32_t> reordering(std::uint64_t mode) const = 0;
  // Size on disk; 0 for chunks in memory.
  virtual std::uint64_t file_bytes() const = 0;
  // Whether all of it but the chunks is under a checksum. Throws Error{io}.
  virtual bool has_checksum() const { return true; }
  // Host memory that the payloads occupy before any chunk is read.
  virtual std::uint64_t held_bytes() const = 0;

  // Per mode, the memory that its labels take once read, 0 without; empty if no mode has labels.
  virtual std::vector<std::uint64_t> label_bytes() const { return {}; }
  // Labels of each mode, read at each call; empty if no mode has any. Throws as read_chunk does.
  virtual std::vector<Labels> labels() const { return {}; }

  // Sizes of the buffer and the scratch that read_chunk needs for this chunk.
  virtual std::uint64_t buffer_bytes(std::uint64_t chunk) const = 0;
  virtual std::uint64_t scratch_bytes(std::uint64_t chunk) const = 0;

  // Reads the payloads of one chunk into `buffer` (64-byte aligned) so that ChunkView::contiguous() is not empty; the
  // view points into the buffer and this source. Every frame has been checked. Thread-safe. Throws Error: io, or
  // corrupt naming the place.
  virtual ChunkView read_chunk(std::uint64_t chunk, std::span<std::byte> buffer,
                               std::span<std::byte> scratch) const = 0;
  // Same, in pieces. Buffer and scratch must outlive the read.
  virtual std::unique_ptr<ChunkRead> begin_read(std::uint64_t chunk, std::span<std::byte> buffer,
                                                std::span<std::byte> scratch) const;
  // Hints that the chunk will be read soon, so that the system can load it into memory.
  virtual void announce_read(std::uint64_t) const {}

 protected:
  ChunkSource() = default;
  ChunkSource(ChunkSource&&) = default;
  ChunkSource& operator=(ChunkSource&&) = default;
};

}  // namespace blco
