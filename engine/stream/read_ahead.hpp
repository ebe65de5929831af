// The reads of one pass, ahead of the chunks that are submitted.
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

// What reads are made of. All of it outlives them.
struct ReadSetup {
  const ChunkSource* tensor = nullptr;
  std::size_t lanes = 0;
  std::span<std::vector<std::byte>> scratch = {};  // one each for as many readers
  // Where a chunk goes that is read through `lane`, once what was there has been used.
  std::function<std::span<std::byte>(std::uint64_t chunk, std::size_t lane)> destination = {};
  // Hears of a read that has ended, on any thread.
  using Time = std::chrono::steady_clock::time_point;
  std::function<void(std::size_t reader, std::uint64_t chunk, Time begin, Time end)> ended = {};
};

// Read j of the pass goes to lane j modulo the number of lanes.
class ReadAhead {
 public:
  virtual ~ReadAhead() = default;

  // Waits for a read to end. All reads before one that failed still end well; from that one on, its error is thrown.
  virtual ChunkView wait(std::size_t read) = 0;
  // The chunk of the read waited for last has been submitted, and its lane may be used again.
  virtual void submitted() {}
};

// Threads of their own read, one for each scratch.
std::unique_ptr<ReadAhead> read_by_threads(const ReadSetup& setup, std::vector<std::uint64_t> chunks);

// The threads that compute read the next chunk, in pieces, while they would wait for each other; what lies on disk
// the system has been asked for before.
std::unique_ptr<ReadAhead> read_beside(const ReadSetup& setup, std::vector<std::uint64_t> chunks, SideJobs& jobs);

}  // namespace blco
