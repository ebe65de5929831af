// Devices at work on one tensor: all that a method knows of them. Today one worker.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "blco/executor.hpp"
#include "engine/stream/streamer.hpp"
#include "kernels/backend.hpp"

namespace blco {

class WorkerGroup {
 public:
  // `backend` and `executor` must outlive this.
  WorkerGroup(Backend& backend, std::unique_ptr<Streamer> streamer, Executor& executor)
      : backend_(&backend), streamer_(std::move(streamer)), executor_(&executor) {}

  // Runs the next pass over the tensor, forward if its number is even.
  void pass(const PassRequest& request);
  // Runs a pass over some of its chunks, in the order given; the numbers do not change.
  void pass(const PassRequest& request, std::span<const std::uint64_t> chunks);
  // Takes the memory for passes over another tensor of the same shape, which must outlive this: two slots, by which
  // each pass reads it anew. plan_for() tells their bytes.
  void add(const ChunkSource& other);
  static StreamPlan plan_for(const ChunkSource& other);
  // Runs a pass over a tensor that was added.
  void pass_over(const ChunkSource& other, const PassRequest& request);
  // Runs a pass over chunks in memory that allocate_host() gave.
  void pass_over(std::span<const ChunkView> chunks, const PassRequest& request);
  std::unique_ptr<HostBuffer> allocate_host(std::uint64_t bytes) { return backend_->allocate_host(bytes); }

  // The number of the next pass, counted since the very first, also after a resume.
  std::uint64_t next_pass() const { return next_; }
  void set_next_pass(std::uint64_t number) { next_ = number; }
  // How many have been run over the tensor, or a part of it, and what they read from its container.
  std::uint64_t passes() const { return passes_; }
  std::uint64_t bytes_read() const { return streamer_->bytes_read(); }
  std::uint64_t chunk_count() const { return streamer_->plan().tiers.size(); }

  // Rows are in the container's order.
  Factors& factors() { return *backend_; }
  // For steps on the host.
  Executor& executor() { return *executor_; }

 private:
  Backend* backend_;
  std::unique_ptr<Streamer> streamer_;
  std::map<const ChunkSource*, std::unique_ptr<Streamer>> others_;
  Executor* executor_;
  std::uint64_t next_ = 0;
  std::uint64_t passes_ = 0;
};

}  // namespace blco
