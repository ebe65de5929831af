// Reads the chunks of one pass ahead of their submission.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "blco/chunk.hpp"
#include "engine/common/side_jobs.hpp"
#include "engine/stream/chunk_queue.hpp"
#include "io/container/chunk_source.hpp"

namespace blco {

// The chunks that a worker reads in a pass: a list, then what it takes from a queue.
struct ReadOrder {
  std::vector<std::uint64_t> own = {};
  ChunkQueue* queue = nullptr;  // none: the list is all
  std::size_t worker = 0;       // of the queue

  // Call once for each number of a read. None: no more are left.
  std::optional<std::uint64_t> take(std::size_t read) const;
  // What a later one is likely to be, where `next` is the next one to be taken.
  std::optional<std::uint64_t> peek(std::size_t read, std::size_t next) const;
  // Of a chunk that need not be read.
  std::optional<ChunkView> packed(std::uint64_t chunk) const;
};

// What the reads need. All of it outlives them.
struct ReadSetup {
  const ChunkSource* tensor = nullptr;
  std::size_t slots = 0;
  std::span<std::vector<std::byte>> scratch = {};  // one per reader
  // Waits until the slot's previous contents have been used.
  std::function<void(std::size_t slot)> await_slot = {};
  // Destination of a chunk read through `slot`.
  std::function<std::span<std::byte>(std::uint64_t chunk, std::size_t slot)> destination = {};
  // Called when a read has ended, on any thread.
  using Time = std::chrono::steady_clock::time_point;
  std::function<void(std::size_t reader, std::uint64_t chunk, Time begin, Time end)> ended = {};
};

// A chunk that has been read, or lies packed in host memory.
struct ReadChunk {
  std::uint64_t chunk = 0;
  ChunkView view;
  std::size_t slot = 0;
};

// A chunk is taken from the order once its slot is free, so that no worker takes more than it has slots.
class ReadAhead {
 public:
  virtual ~ReadAhead() = default;

  // Waits for the next read to end; none: the pass has no more. If a read fails, the reads before it still succeed;
  // from it on, its error is thrown.
  virtual std::optional<ReadChunk> wait() = 0;
  // Call after submitting the chunk waited for last; its slot may then be reused.
  virtual void submitted() = 0;
};

// Reads with threads of its own, one per scratch.
std::unique_ptr<ReadAhead> read_by_threads(const ReadSetup& setup, ReadOrder order);

// The computing threads read the next chunk, in pieces, when they would otherwise wait for each other. The system has
// been asked earlier to load it from disk.
std::unique_ptr<ReadAhead> read_cooperatively(const ReadSetup& setup, ReadOrder order, SideJobs& jobs);

}  // namespace blco
