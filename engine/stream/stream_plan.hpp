// The part of a job's plan that a streamer goes by.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/backend.hpp"

namespace blco {

struct StreamPlan {
  std::vector<Tier> tiers = {};  // per chunk
  int slots = 0;                 // staging buffers; also the number of device buffers
  int readers = 0;               // threads that fill the slots for a device; on the CPU 1: the computing threads read
  std::uint64_t slot_bytes = 0;  // of each slot
  std::uint64_t scratch_bytes = 0;  // of each reader
  std::uint64_t direct_bytes = 0;   // of each reader beside: to read past the system's cache; 0: read through it
  std::uint64_t disk_bytes_per_pass = 0;
  int value_exponent = 0;  // of the chunks' values, see ChunkView

  // Set by the streamer: packed chunks that became streamed ones, the memory that they do not take, and why.
  std::uint64_t demoted_chunks = 0;
  std::uint64_t demoted_bytes = 0;
  std::string shortage = {};
};

}  // namespace blco
