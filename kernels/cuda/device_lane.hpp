// What carries a chunk to the device, and what is known of one that stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "blco/chunk.hpp"
#include "blco/error.hpp"
#include "kernels/cuda/device_chunk.hpp"
#include "kernels/cuda/device_memory.hpp"
#include "kernels/cuda/mttkrp.hpp"

namespace blco::cuda {

// A device buffer, its stream, and the event recorded after the copy from the staging buffer of the same number.
struct Lane {
  explicit Lane(std::uint64_t bytes) : memory(bytes, "a lane"), stream(Stream::Priority::urgent) {}

  DeviceBuffer memory;
  Stream stream;
  Event staged{Event::Timing::off, cudaEventBlockingSync};  // readers wait for it, and must not spin meanwhile
};

struct Resident {
  DeviceChunk chunk;  // in device memory, or packed
  ChunkView packed;   // in the caller's pinned memory, if sent over the link in every pass
  bool crosses_link = false;
  std::size_t lane = 0;  // whose stream copies it, until the end of the pass that keeps it
};

// Says what a pass has found.
[[noreturn]] inline void throw_fault(FaultRecord fault) {
  throw Error(ErrorKind::corrupt, "chunk " + std::to_string((fault >> 8) - 1) + ": a coordinate of mode " +
                                      std::to_string(fault & 255) +
                                      " lies outside the tensor; the file is damaged, ingest it again");
}

}  // namespace blco::cuda
