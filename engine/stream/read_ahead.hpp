// Reads the chunks of one pass ahead of their submission.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "blco/chunk.hpp"
#include "engine/common/side_jobs.hpp"
#include "io/container/chunk_source.hpp"

namespace blco {

// What the reads need. All of it outlives them.
struct ReadSetup {
  const ChunkSource* tensor = nullptr;
  std::size_t slots = 0;
  std::span<std::vector<std::byte>> scratch = {};  // one per reader
  // Destination of a chunk read through `slot`; waits until the slot's previous contents have been used.
  std::function<std::span<std::byte>(std::uint64_t chunk, std::size_t slot)> destination = {};
  // Called when a read has ended, on any thread.
  using Time = std::chrono::steady_clock::time_point;
  std::function<void(std::size_t reader, std::uint64_t chunk, Time begin, Time end)> ended = {};
};

// Read j of the pass uses slot j modulo the number of slots.
class ReadAhead {
 public:
  virtual ~ReadAhead() = default;

  // Waits for a read to end. If a read fails, the reads before it still succeed; from it on, its error is thrown.
  virtual ChunkView wait(std::size_t read) = 0;
  // Call after submitting the chunk waited for last; its slot may then be reused.
  virtual void submitted() {}
};

// Reads with threads of its own, one per scratch.
std::unique_ptr<ReadAhead> read_by_threads(const ReadSetup& setup, std::vector<std::uint64_t> chunks);

// The computing threads read the next chunk, in pieces, when they would otherwise wait for each other. The system has
// been asked earlier to load it from disk.
std::unique_ptr<ReadAhead> read_cooperatively(const ReadSetup& setup, std::vector<std::uint64_t> chunks,
                                              SideJobs& jobs);

}  // namespace blco
