// What one copy of a chunk moves: its payloads, of which each but the first begins at a multiple of 256 bytes.
#pragma once

#include <cstdint>

#include "io/container/container.hpp"

namespace blco {

inline std::uint64_t linked_bytes(const StoredExtents& extents) {
  std::uint64_t bytes = 0;
  for (const StoredExtent& extent : extents) {
    if (extent.payload_bytes > 0) bytes = (bytes + 255) / 256 * 256 + extent.payload_bytes;
  }
  return bytes;
}

}  // namespace blco
