// Shared by fits, MTTKRPs, plans and benchmarks: finds a device, makes a plan, sets up a backend.
#pragma once

#include <blco/compute.hpp>
#include <blco/tensor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "engine/common/chrome_trace.hpp"
#include "engine/common/progress_meter.hpp"
#include "engine/common/side_jobs.hpp"
#include "engine/common/thread_pool.hpp"
#include "engine/work/job_plan.hpp"
#include "engine/work/serving_threads.hpp"
#include "engine/work/worker_group.hpp"

namespace blco {

// Owns what a job needs from its plan to its end.
class Job : public JobPlan {
 public:
  // Plans: throws Error{out_of_memory} for a budget below its minimum, and what JobPlan throws. With `declared`, plans
  // for that GPU, and can do no more. With Compute::peers, does not plan before it knows which rows it holds, unless it
  // holds all. With several Compute::devices, is the job of the first one; plan() has the host memory of all, and
  // describe() tells of the others too.
  Job(const Tensor& tensor, const Compute& compute, const JobNeeds& needs, const DeclaredGpu* declared = nullptr);

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
  // Of the rows that this worker owns: without moves, of all. Null for a job without L-BFGS.
  std::unique_ptr<OwnNumbers> make_numbers(const RowMoves* moves);
  // The same for a job without matrices.
  std::unique_ptr<OwnMatrices> make_matrices(const RowMoves* moves);
  TraceSink* trace() { return trace_.get(); }
  void close_trace();
  ThreadPool& pool() { return pool_; }

 private:
  Job(std::unique_ptr<ServingThreads> threads, const Tensor& tensor, const Compute& compute, const JobNeeds& needs,
      const DeclaredGpu* declared);
  bool is_cache_of_use() const;
  void plan_devices();
  std::vector<PlacedRows> placed_rows(const RowMoves* moves) const;
  // Has the peers begin, and gives all rows their owners.
  std::unique_ptr<RowMoves> share_rows(const OrderTree& tree);

  std::unique_ptr<ServingThreads> threads_;  // the other devices at work; null: none
  ThreadPool pool_;
  SideJobs side_jobs_;
  std::unique_ptr<ChromeTrace> trace_;
  std::function<void(const std::string&)> on_compile_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace blco
