// Reads one chunk of a container with several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "io/container/chunk_source.hpp"

namespace blco {

// `view` has the chunk's number, size and bounds, and the places of its payloads in `buffer`. On a failed read or a
// stale address, `source` rereads the chunk.
std::unique_ptr<ChunkRead> read_in_pieces(const ChunkSource& source, int descriptor, const StoredExtents& row,
                                          const ChunkView& view, std::span<std::byte> buffer,
                                          std::span<std::byte> scratch);

}  // namespace blco
