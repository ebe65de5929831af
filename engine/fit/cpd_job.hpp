// What fits, MTTKRPs, plans and benchmarks share: options checked, a device found, a plan made, a backend set up.
#pragma once

#include <blco/cpd.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/common/chrome_trace.hpp"
#include "engine/common/side_jobs.hpp"
#include "engine/common/thread_pool.hpp"
#include "engine/stream/pass_estimate.hpp"
#include "engine/stream/planner.hpp"

namespace blco {

// Throws Error{invalid_argument} for options that no job can have, or an initial model that does not fit the tensor.
void check_options(const TensorSummary& tensor, const CpdOptions& options);

struct JobRequest {
  std::uint64_t caller_bytes = 0;  // of what the caller gave, and of what it gets beyond what is freed by then
  std::uint64_t model_bytes = 0;   // of what it gets that a backend on the host would free before
  bool keep_chunks = true;
  bool want_previous = false;             // a fit that may have to go back to its last finished sweep
  const DeclaredGpu* declared = nullptr;  // only the plan is wanted, for this GPU
};

// Holds what a job needs from its plan to its end.
class CpdJob {
 public:
  // Device::automatic takes the GPU that is there, else the CPU. Throws Error: out_of_memory (a budget below its
  // minimum), cuda and not_built (Device::cuda, and there is no GPU).
  CpdJob(const Tensor& tensor, const MemoryBudget& budget, const CpdOptions& options, const JobRequest& request);

  const Plan& plan() const { return plan_; }
  // Takes the device or host memory of the plan; throws where the machine does not give it.
  void make_backend();
  // Made at the first call, unless it was made before.
  Backend& backend();
  TraceSink* trace() { return trace_.get(); }
  void close_trace();
  CpdPlan describe() const;
  // What each mode's pass does, once the resident chunks are where they stay.
  std::vector<PassLoad> loads() const;
  // Null: the CPU computes.
  const DeviceLimits* device() const { return request_.device ? &request_.device->limits : nullptr; }
  ThreadPool& pool() { return pool_; }
  // For the streamer; nullptr where a GPU computes.
  SideJobs* side_jobs() { return request_.device ? nullptr : &side_jobs_; }

 private:
  std::unique_ptr<Backend> make_device_backend() const;
  void choose_device(const MemoryBudget& budget, const CpdOptions& options, const JobRequest& request);

  const Tensor* tensor_;
  ThreadPool pool_;
  SideJobs side_jobs_;
  std::unique_ptr<ChromeTrace> trace_;
  PlanRequest request_;
  std::string device_note_;
  const DeclaredGpu* declared_;
  TensorSizes sizes_;
  Plan plan_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace blco
