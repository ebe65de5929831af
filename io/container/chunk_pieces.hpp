// A container's chunk, read by several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "io/container/chunk_source.hpp"

namespace blco {

// `view` has the chunk's number, size, bounds and, where they will be, its payloads. What goes wrong, and a place that
// is not the right one, is for `source` to read again.
std::unique_ptr<ChunkRead> read_in_pieces(const ChunkSource& source, int descriptor, const StoredExtents& row,
                                          const ChunkView& view, std::span<std::byte> buffer,
                                          std::span<std::byte> scratch);

}  // namespace blco
