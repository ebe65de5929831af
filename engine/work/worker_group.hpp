// Devices at work on one tensor: all that a method knows of them. One is in this process, others may be in its peers,
// which are this process's children in the tree of blco/peers.hpp, and have workers of their own.
#pragma once

#include <blco/peers.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "blco/executor.hpp"
#include "engine/stream/streamer.hpp"
#include "engine/work/remote_worker.hpp"
#include "kernels/backend.hpp"

namespace blco {

class WorkerGroup {
 public:
  // `backend` and `executor` must outlive this; `streamer` has all chunks, or with peers this process's share.
  WorkerGroup(Backend& backend, std::unique_ptr<Streamer> streamer, Executor& executor)
      : backend_(&backend),
        streamer_(std::move(streamer)),
        executor_(&executor),
        chunk_count_(streamer_->plan().tiers.size()) {}

  // From now on each of `peers` works on its share of `tensor`. Returns once all are ready, and throws what keeps one
  // from that. Adds the rows of their chunks to `rows`, unless that is null.
  void add_peers(std::vector<std::unique_ptr<RemoteWorker>> peers, const ChunkSource& tensor, int columns,
                 TouchedRows* rows);
  // For rank 0: what workers share in each pass.
  void share(ChunkQueue& queue) { queue_ = &queue; }

  // Runs a pass over the tensor.
  void pass(const PassRequest& request);
  // Runs a pass over some of its chunks, in the order given; the numbers do not change.
  void pass(const PassRequest& request, std::span<const std::uint64_t> chunks);
  // Runs the pass that another process has ordered; `chunks` are numbered from this process's first one on.
  void pass(const PassOrder& order, std::span<const std::uint64_t> chunks);
  // Takes the memory for passes over another tensor of the same shape, which must outlive this: two slots, by which
  // each pass reads it anew. plan_for() tells their bytes.
  void add(const ChunkSource& other);
  static StreamPlan plan_for(const ChunkSource& other);
  // Runs a pass over a tensor that was added; its values have the tensor's exponent.
  void pass_over(const ChunkSource& other, const PassRequest& request);
  // Runs a pass over chunks in memory that allocate_host() gave, with exponents of their own.
  void pass_over(std::span<const ChunkView> chunks, const PassRequest& request);
  std::unique_ptr<HostBuffer> allocate_host(std::uint64_t bytes) { return backend_->allocate_host(bytes); }

  // The sum of the terms of the last loss pass, and of those that it continues.
  double sum_of_terms() const { return backend_->sum_of_terms() + terms_of_peers_; }

  // The number of the next pass that is no MTTKRP, counted since the very first, also after a resume.
  std::uint64_t next_pass() const { return next_; }
  void set_next_pass(std::uint64_t number) { next_ = number; }
  // How many have been run over the tensor, or a part of it, and what the passes of all workers
  // read from its container.
  std::uint64_t passes() const { return passes_; }
  std::uint64_t bytes_read() const;
  std::uint64_t chunk_count() const { return chunk_count_; }

  // Rows are in the container's order.
  Factors& factors() { return *backend_; }
  // For steps on the host.
  Executor& executor() { return *executor_; }

 private:
  void begin_queue(std::span<const std::uint64_t> chunks, bool forward) {
    if (queue_ != nullptr) queue_->begin(chunks, forward);
  }
  void pass_here(const PassOrder& order, std::span<const std::uint64_t> chunks);
  // Waits for the first so many, and throws the first failure; `is_lost`: the pass has failed here.
  void await_pass_of_peers(std::size_t begun, ModeSet outputs, bool is_lost);
  void add_outputs_of_peers(ModeSet outputs);

  Backend* backend_;
  std::unique_ptr<Streamer> streamer_;
  std::map<const ChunkSource*, std::unique_ptr<Streamer>> others_;
  Executor* executor_;
  std::uint64_t chunk_count_;
  ChunkQueue* queue_ = nullptr;
  std::vector<std::unique_ptr<RemoteWorker>> peers_;  // by rank
  std::vector<std::uint64_t> shape_;                  // with peers
  int columns_ = 0;                                   // with peers
  double terms_of_peers_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t passes_ = 0;
};

}  // namespace blco
