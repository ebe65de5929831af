// Reads stored payloads of a container into a usable form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "io/container/chunk_source.hpp"
#include "io/container/container.hpp"
#include "io/file/file_descriptor.hpp"

namespace blco {

// Raw doubles may be byte-shuffled on disk; accept_column restores their order through the scratch.
bool may_be_shuffled(const StoredExtent& extent, std::size_t column, std::uint64_t nnz);
bool is_compressed(const StoredExtent& extent);

// Scratch for a chunk's columns, read one after the other.
std::uint64_t column_scratch_bytes(const StoredExtents& row, std::uint64_t nnz);

struct StoredFile {
  int descriptor = -1;
  const DirectFile* direct = nullptr;  // null: reads go through the system's cache
  std::span<std::byte> room = {};      // direct_room_bytes; with `direct`
};

// Reads a payload, decompressing it through the scratch. Here and below: throws Error io, or corrupt without a place,
// which the caller adds.
void read_column(const StoredFile& file, const StoredExtent& extent, std::span<std::byte> payload,
                 std::span<std::byte> scratch);

// Reads, decompresses and checks a payload, and unshuffles raw doubles.
void load_column(const StoredFile& file, const StoredExtent& extent, std::size_t column, std::uint64_t nnz,
                 std::span<std::byte> payload, std::span<std::byte> scratch);

// Checks a payload that was read, and unshuffles raw doubles through the scratch.
void accept_column(std::size_t column, std::uint64_t nnz, std::span<std::byte> payload, std::span<std::byte> scratch);

// Reads one chunk with several threads. `view` has the chunk's number, size and bounds, and the places of its payloads
// in `buffer`. On a failed read or a stale address, `source` rereads the chunk.
std::unique_ptr<ChunkRead> read_in_pieces(const ChunkSource& source, int descriptor, const StoredExtents& row,
                                          const ChunkView& view, std::span<std::byte> buffer,
                                          std::span<std::byte> scratch);

}  // namespace blco
