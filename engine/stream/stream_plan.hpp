// The part of a job's plan that a streamer goes by.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/passes.hpp"

namespace blco {

// Chunks [first, end).
struct ChunkRange {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};

struct StreamPlan {
  std::vector<Tier> tiers = {};  // per chunk
  // Per mode, those of passes that fill its output alone; a pass without an output reads those of the first mode.
  // Empty: all passes read all chunks.
  std::vector<ChunkRange> of_modes = {};
  int slots = 0;                 // staging buffers; also the number of device buffers
  int readers = 0;               // threads that fill the slots for a device; on the CPU 1: the computing threads read
  std::uint64_t slot_bytes = 0;  // of each slot
  std::uint64_t scratch_bytes = 0;        // of each reader
  std::uint64_t direct_bytes = 0;         // of each reader beside: to read past the system's cache; 0: read through it
  std::uint64_t disk_bytes_per_pass = 0;  // on average over the modes, where each has chunks of its own
  int value_exponent = 0;                 // of the chunks' values, see ChunkView

  // Set by the streamer: packed chunks that became streamed ones, the memory that they do not take, and why.
  std::uint64_t demoted_chunks = 0;
  std::uint64_t demoted_bytes = 0;
  std::string shortage = {};

  ChunkRange chunks_of(const PassRequest& request) const {
    if (of_modes.empty()) return {0, tiers.size()};
    return of_modes[static_cast<std::size_t>(std::max(0, request.only_mode()))];
  }
  // The mean over the modes of what their passes read of a chunk: `bytes` if it is one of theirs, else nothing.
  std::uint64_t bytes_per_pass(std::uint64_t chunk, std::uint64_t bytes) const {
    if (of_modes.empty()) return bytes;
    const auto reads = std::ranges::count_if(
        of_modes, [chunk](const ChunkRange& range) { return chunk >= range.first && chunk < range.end; });
    return bytes * static_cast<std::uint64_t>(reads) / of_modes.size();
  }
};

}  // namespace blco
