// Devices at work on one tensor: all that a method knows of them. One is in this process, of rank 0; others may be in
// its peers, each of which owns a part of the factors' rows.
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
#include "engine/work/order_tree.hpp"
#include "engine/work/rows/own_matrices.hpp"
#include "engine/work/rows/own_numbers.hpp"
#include "engine/work/rows/row_moves.hpp"
#include "engine/work/shared_factors.hpp"
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

  // The peers work too, each on its share of the tensor's `chunks`. `moves` are this worker's; `config` is that of the
  // backend.
  void lead(std::unique_ptr<JobAtPeers> job, std::unique_ptr<RowMoves> moves, const BackendConfig& config,
            std::uint64_t chunks);
  // What this process has of the numbers of a job with L-BFGS, and of matrices; null: nothing.
  void keep(std::unique_ptr<OwnNumbers> numbers, std::unique_ptr<OwnMatrices> matrices) {
    numbers_ = std::move(numbers);
    matrices_ = std::move(matrices);
  }
  // What workers share in each pass.
  void share(ChunkQueue& queue) { queue_ = &queue; }

  // Runs a pass over the tensor.
  void pass(const PassRequest& request);
  // Runs a pass over some of its chunks, in the order given; the numbers do not change.
  void pass(const PassRequest& request, std::span<const std::uint64_t> chunks);
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
  Factors& factors() { return shared_ ? *shared_ : static_cast<Factors&>(*backend_); }
  // Has an order carried out over the numbers of L-BFGS, or over matrices, wherever they lie; see OwnNumbers and
  // OwnMatrices.
  std::vector<double> take(const NumbersOrder& order, std::span<const double> given = {});
  std::vector<double> take(const MatrixOrder& order, std::span<const double> given = {});
  // Frees the memory of passes and of L-BFGS, of which no more may follow.
  void end_passes();
  // For steps on the host.
  Executor& executor() { return *executor_; }

 private:
  void begin_queue(std::span<const std::uint64_t> chunks, bool forward) {
    if (queue_ != nullptr) queue_->begin(chunks, forward);
  }
  void pass(const PassOrder& order, std::span<const std::uint64_t> chunks);
  // Of a pass over what the others do not have.
  void begin_pass_here(const PassRequest& request);

  Backend* backend_;
  std::unique_ptr<Streamer> streamer_;
  std::map<const ChunkSource*, std::unique_ptr<Streamer>> others_;
  Executor* executor_;
  std::uint64_t chunk_count_;
  ChunkQueue* queue_ = nullptr;
  std::unique_ptr<JobAtPeers> job_;  // with peers, as are the next two
  std::unique_ptr<RowMoves> moves_;
  std::unique_ptr<SharedFactors> shared_;
  std::unique_ptr<OwnNumbers> numbers_;
  std::unique_ptr<OwnMatrices> matrices_;
  bool have_part_ = false;  // the peers, in the last pass or in those that it continued
  double terms_of_peers_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t passes_ = 0;
};

// Runs an order to pass over this process's chunks, which are numbered from `first` on.
void run_pass(Streamer& streamer, const PassOrder& order, std::span<const std::uint64_t> chunks, std::uint64_t first);

}  // namespace blco
