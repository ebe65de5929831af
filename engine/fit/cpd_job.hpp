// Shared by fits, MTTKRPs, plans and benchmarks: checks options, finds a device, makes a plan, sets up a backend.
#pragma once

#include <blco/cpd.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/common/chrome_trace.hpp"
#include "engine/common/progress_meter.hpp"
#include "engine/common/side_jobs.hpp"
#include "engine/common/thread_pool.hpp"
#include "engine/stream/pass_estimate.hpp"
#include "engine/stream/planner.hpp"
#include "engine/stream/streamer.hpp"

namespace blco {

// Throws Error{invalid_argument} for invalid options, or an initial model that does not fit the tensor.
void check_options(const TensorSummary& tensor, const CpdOptions& options);

struct JobRequest {
  std::uint64_t caller_bytes = 0;  // caller's inputs, and the part of its results that exceeds what is freed before
  std::uint64_t model_bytes = 0;   // further results, whose space a host backend frees first
  Tier best_tier = Tier::device;   // no chunk stays nearer to the kernels between passes
  bool want_previous = false;      // keep factors for a return to the last finished sweep
  bool all_outputs = false;        // as in BackendConfig
  bool loss_passes = false;        // as in BackendConfig
  std::uint64_t slot_bytes = 0;    // least size of a slot on a device, for chunks of another tensor
  ModeSet dual_modes = 0;          // as in BackendConfig
  const DeclaredGpu* declared = nullptr;  // plan for this GPU only
  KernelVariant variant = KernelVariant::usual;
  int blocks_per_multiprocessor = 0;  // as in GpuChoice
  TierShares shares = {};             // as in PlanRequest
  StopPoll stop = {};                 // as in BackendConfig
};

// Owns what a job needs from its plan to its end.
class CpdJob {
 public:
  // Device::automatic means a GPU if there is one, else the CPU. Throws Error: out_of_memory (a budget below its
  // minimum), cuda and not_built (Device::cuda without a GPU).
  CpdJob(const Tensor& tensor, const MemoryBudget& budget, const CpdOptions& options, const JobRequest& request);

  const Plan& plan() const { return plan_; }
  // Allocates the plan's device or host memory; throws if the machine does not provide it.
  void make_backend();
  // Made on the first call, unless it was made before.
  Backend& backend();
  // Allocates the slots and the chunks' host memory. If there is less of it than planned, describe() says so
  // afterwards.
  std::unique_ptr<Streamer> make_streamer(ProgressMeter* meter = nullptr);
  TraceSink* trace() { return trace_.get(); }
  void close_trace();
  CpdPlan describe() const;
  // The work of each mode's pass, once the resident chunks are in place.
  std::vector<PassLoad> loads() const;
  // Null if the CPU computes.
  const DeviceLimits* device() const { return request_.kind->gpu(); }
  ThreadPool& pool() { return pool_; }

 private:
  bool is_cache_of_use() const;
  void choose_device(const MemoryBudget& budget, const CpdOptions& options, const JobRequest& request);

  const Tensor* tensor_;
  ThreadPool pool_;
  SideJobs side_jobs_;
  std::unique_ptr<ChromeTrace> trace_;
  std::unique_ptr<DeviceKind> gpu_;  // null: the CPU computes
  PlanRequest request_;
  std::string device_note_;
  const DeclaredGpu* declared_;
  TensorSizes sizes_;
  Plan plan_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace blco
