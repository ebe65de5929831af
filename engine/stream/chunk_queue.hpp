// The chunks of a pass that no worker of a process has for itself: each goes to whoever takes it first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "blco/chunk.hpp"

namespace blco {

// Chunks keep the numbers of the whole tensor. Thread-safe.
class ChunkQueue {
 public:
  // `gpu`: of one of the workers, which copies from packed chunks of the others; none: they compute on the CPU.
  explicit ChunkQueue(std::size_t workers, std::optional<int> gpu = {}) : parts_(workers), gpu_(gpu) {}

  std::optional<int> gpu() const { return gpu_; }

  // From the next pass on, chunks of this worker that are read in each pass; or one that lies packed in host memory.
  void add(std::size_t worker, std::uint64_t chunk) { put(chunk, {worker, std::nullopt}); }
  void add(std::size_t worker, std::uint64_t chunk, const ChunkView& packed) { put(chunk, {worker, packed}); }
  void remove_all_of(std::size_t worker);
  bool contains(std::uint64_t chunk) const;
  // Of a chunk in host memory.
  std::optional<ChunkView> packed(std::uint64_t chunk) const;

  // Begins a pass over those of `chunks` that are here, once all workers have ended the last one. They are parted as
  // that one was in the end; before, each worker has its own.
  void begin(std::span<const std::uint64_t> chunks, bool forward);
  // The next one of the worker's part; then the last one of the largest part that is left.
  std::optional<std::uint64_t> take(std::size_t worker);
  // What take() gives after so many others, if nobody takes it before.
  std::optional<std::uint64_t> peek(std::size_t worker, std::size_t ahead) const;
  // A worker has failed: the others need not go on.
  void close();

 private:
  struct Shared {
    std::size_t worker = 0;
    std::optional<ChunkView> packed;
  };
  struct Part {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t taken = 0;  // by this worker, in this pass
    std::size_t left() const { return end - begin; }
  };

  void put(std::uint64_t chunk, const Shared& shared);
  // Neighbours begin at ends that are far from each other, so that both come to where they meet.
  bool ascends(std::size_t worker) const { return forward_ == (worker % 2 == 0); }

  mutable std::mutex mutex_;
  std::map<std::uint64_t, Shared> shared_;
  std::vector<std::uint64_t> chunks_;  // of this pass
  std::vector<Part> parts_;            // of `chunks_`, by worker
  std::optional<int> gpu_;
  bool forward_ = true;
};

}  // namespace blco
