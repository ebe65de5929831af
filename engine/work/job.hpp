// Shared by fits, MTTKRPs, plans and benchmarks: finds a device, makes a plan, sets up a backend.
#pragma once

#include <blco/compute.hpp>
#include <blco/plan.hpp>
#include <blco/tensor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/common/chrome_trace.hpp"
#include "engine/common/progress_meter.hpp"
#include "engine/common/side_jobs.hpp"
#include "engine/common/thread_pool.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "engine/work/chunk_share.hpp"
#include "engine/work/make_plan.hpp"
#include "engine/work/pass_chunks.hpp"
#include "engine/work/serving_threads.hpp"
#include "engine/work/worker_group.hpp"

namespace blco {

// The budget of a job's host memory: as given, else this process's part of what is available.
std::uint64_t job_budget(const Compute& compute);

// What every job needs: the tensor's layout, rank and precision, and room for OriginalRows.
JobNeeds needs_of(const Tensor& tensor, int rank, Precision precision);

// What a worker needs to serve such a job.
JobNeeds needs_of(const Tensor& tensor, const JobOrder& order);

// Owns what a job needs from its plan to its end.
class Job {
 public:
  // Throws Error: out_of_memory (a budget below its minimum), cuda and not_built (a GPU that is not there).
  // With `declared`, plans for that GPU, and can do no more.
  // With Compute::peers, plans for this process's share of the chunks, and where it does not hold all rows, not before
  // it knows which. With several Compute::devices, is the job of the first one; plan() has the host memory of all, and
  // describe() tells of the others too.
  Job(const Tensor& tensor, const Compute& compute, const JobNeeds& needs, const DeclaredGpu* declared = nullptr);

  // Unless there is a plan: makes one without asking the peers, for an estimate of this process's rows. Throws
  // Error{out_of_memory}.
  void plan_alone();
  const Plan& plan() const { return plan_; }
  // Allocates the plan's device or host memory; throws if the machine does not provide it.
  void make_backend();
  // Made on the first call, unless it was made before.
  Backend& backend();
  // Allocates the slots and the chunks' host memory. If there is less of it than planned, describe() says so
  // afterwards.
  std::unique_ptr<Streamer> make_streamer(ProgressMeter* meter = nullptr);
  // For rank 0: workers with a streamer of that kind, those of all peers among them, each of which owns a part of the
  // factors' rows and holds, beside these, those that its chunks touch. Throws what keeps one of them from the job.
  std::unique_ptr<WorkerGroup> make_workers(ProgressMeter* meter = nullptr);
  // The rows of the factors that this process's chunks have, which are read for that.
  TouchedRows touched_rows();
  // Once rows have owners, which all workers are told at the same time: makes plan and backend.
  std::unique_ptr<RowMoves> take_rows(RowOwners owners, TouchedRows touched);
  TraceSink* trace() { return trace_.get(); }
  void close_trace();
  CpdPlan describe() const;
  // What the peers are told.
  JobOrder order() const;
  // Null if the CPU computes.
  const DeviceLimits* device() const { return needs_.kind->gpu(); }
  bool has_factors_on_device() const { return device() != nullptr && !slabs_; }
  ThreadPool& pool() { return pool_; }
  // Those of this process, where several share the job.
  const ChunkSource& chunks() const { return share_ ? *share_ : TensorChunks::of(*tensor_); }
  // Of these, or of the copies in the orders of modes, those that passes read.
  const ChunkSource& pass_chunks() const;
  // Of the tensor, the number of the first one of chunks().
  std::uint64_t first_chunk() const;

 private:
  bool is_cache_of_use() const;
  // Whether a plan leaves chunks to all workers.
  bool has_chunks_to_share() const;
  void choose_device(const Compute& compute);
  int take_gpu_in_turn();
  void choose_slabs();
  void count_model();
  std::string obstacle_to_orders() const;
  std::string advantage_of_natural_order(const Plan& ordered) const;
  void choose_orders();
  void plan_devices();
  void plan_held(std::vector<std::shared_ptr<const RowIndex>> held);
  // Has the peers begin, and gives all rows their owners.
  std::unique_ptr<RowMoves> share_rows(const OrderTree& tree);
  std::uint64_t row_bytes_of_pass(std::size_t mode) const;

  const Tensor* tensor_;
  std::unique_ptr<ServingThreads> threads_;  // the other devices at work; null: none
  Peers* peers_;                             // null: none
  ChunkQueue* queue_ = nullptr;              // of workers that share chunks
  std::optional<ChunkShare> share_;          // of several workers
  std::optional<PassChunks> ordered_;        // where passes read the orders of their modes
  ThreadPool pool_;
  SideJobs side_jobs_;
  std::unique_ptr<ChromeTrace> trace_;
  std::optional<CurrentGpu> current_;
  std::unique_ptr<DeviceKind> gpu_;    // null: the CPU computes
  std::unique_ptr<DeviceKind> slabs_;  // of columns on the GPU; null: it has all at once
  JobNeeds needs_;
  std::string device_name_;  // one of Compute::devices, or empty
  std::string device_note_;
  std::function<void(const std::string&)> on_compile_;
  std::string orders_note_;
  std::optional<std::uint64_t> least_of_orders_;  // a budget for them, where the job reads the natural order instead
  const DeclaredGpu* declared_;
  TensorSizes sizes_;
  Plan plan_;
  bool holds_all_ = true;  // rows; else those of needs_.backend.held, once they are known, and then there is a plan
  bool is_planned_ = false;
  std::unique_ptr<Backend> backend_;
};

}  // namespace blco
