#include "engine/fit/cpd_job.hpp"

#include <algorithm>
#include <cmath>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "engine/common/memory.hpp"
#include "engine/fit/initial_factors.hpp"
#include "engine/fit/methods/fit_method.hpp"
#include "engine/stream/pass_estimate.hpp"
#include "io/container/chunk_source.hpp"

namespace blco {
namespace {

// Shared memory of a block on a declared GPU: that of compute capability 8.0.
constexpr std::uint64_t declared_shared_bytes = 163 << 10;

// More chunks than any overlap of reading, copying and computing has on their way.
constexpr int max_slots = 64;

DeviceLimits limits_of(const DeclaredGpu& gpu) {
  DeviceLimits limits;
  limits.name = "declared GPU";
  limits.multiprocessors = gpu.multiprocessors;
  limits.l2_bytes = gpu.l2_bytes;
  limits.shared_bytes_per_block = limits.shared_bytes_per_multiprocessor = declared_shared_bytes;
  limits.memory_bytes = limits.free_bytes = gpu.memory_bytes;
  return limits;
}

bool takes_any_start(const CpdMethod& method) {
  return traits_of(method).takes_any_start &&
         std::ranges::none_of(constraints_of(method), [](const RowConstraint& constraint) {
           return constraint.set == RowSet::nonnegative || constraint.set == RowSet::simplex;
         });
}

}  // namespace

void check_options(const TensorSummary& tensor, const CpdOptions& options) {
  if (options.rank < 1 || options.rank > max_rank) {
    refuse(option_name("rank") + " must be from 1 to " + std::to_string(max_rank) + ", not " +
           std::to_string(options.rank));
  }
  if (max_sweeps_of(options) < 1) refuse(option_name("max_sweeps") + " must be at least 1");
  if (!(tolerance_of(options) >= 0)) refuse(option_name("tolerance") + " must be at least 0");
  if (!(options.ridge >= 0) || !std::isfinite(options.ridge)) refuse(option_name("ridge") + " must be at least 0");
  if (!(options.time_limit_seconds >= 0)) refuse(option_name("time_limit_seconds") + " must be at least 0");
  if (options.slots != 0 && (options.slots < 2 || options.slots > max_slots)) {
    refuse(option_name("slots") + " must be 0, or from 2 to " + std::to_string(max_slots) + ", not " +
           std::to_string(options.slots));
  }
  if ((options.start == Start::centered || options.start == Start::normal) && !takes_any_start(options.method)) {
    refuse(option_name("start") +
           " takes other starts than uniform with the methods complete and als only, and there " +
           "without modes that are nonnegative or on the simplex; leave it out");
  }
  check_method(tensor, options);
  if (options.checkpoint_sweeps < 1) refuse(option_name("checkpoint_sweeps") + " must be at least 1");
  if (options.initial != nullptr) check_initial_model(tensor, options);
}

CpdJob::CpdJob(const Tensor& tensor, const MemoryBudget& budget, const CpdOptions& options, const JobRequest& request)
    : tensor_(&tensor),
      pool_(options.threads),
      side_jobs_(pool_),
      request_{.backend = {.layout = TensorLayout(tensor.summary().shape)}},
      declared_(request.declared),
      sizes_(measure_tensor(tensor.chunks())) {
  request_.backend.rank = options.rank;
  request_.backend.precision = options.precision;
  request_.backend.stop = request.stop;
  request_.backend.all_outputs = request.all_outputs;
  request_.backend.loss_passes = request.loss_passes;
  request_.backend.dual_modes = request.dual_modes;
  request_.budget_bytes = host_budget(budget.host_bytes);
  request_.threads = pool_.width();
  request_.deterministic = options.deterministic;
  request_.best_tier = request.best_tier;
  request_.shares = request.shares;
  request_.slot_bytes = request.slot_bytes;
  request_.want_previous = request.want_previous;
  choose_device(budget, options, request);
  request_.caller_bytes = request.caller_bytes + (gpu_ ? request.model_bytes : 0) + tensor.chunks().held_bytes();
  plan_ = make_plan(sizes_, request_);
  if (!options.trace.empty() && declared_ == nullptr) trace_ = std::make_unique<ChromeTrace>(options.trace);
  request_.backend.trace = trace_.get();
}

void CpdJob::choose_device(const MemoryBudget& budget, const CpdOptions& options, const JobRequest& request) {
  const bool wants_gpu = request.declared != nullptr || options.device == Device::cuda;
  if (options.deterministic && wants_gpu) {
    refuse("a deterministic job runs on the CPU only, because a GPU adds sums in no fixed order; use " +
           option_name("device", "cpu") + ", or leave out " + option_name("deterministic"));
  }
  if (request.declared == nullptr && (options.device == Device::cpu || options.deterministic)) return;
  DeviceSearch found;
  if (request.declared != nullptr) {
    found.limits = limits_of(*request.declared);
  } else {
    found = find_device();
  }
  if (!found.limits) {
    device_note_ = "no GPU: " + found.reason;
    if (options.device == Device::cuda) {
      const std::string remedy = found.remedy.empty() ? "" : found.remedy + ", or ";
      throw Error(found.kind, device_note_ + "; " + remedy + "use " + option_name("device", "cpu") + " or auto");
    }
    return;
  }
  gpu_ = gpu_kind({*found.limits, options.conflict_resolution, request.variant, request.blocks_per_multiprocessor});
  request_.kind = gpu_.get();
  request_.device_budget_bytes = budget.device_bytes != 0 ? budget.device_bytes : found.limits->free_bytes / 10 * 9;
  request_.slots = options.slots;
}

void CpdJob::make_backend() {
  try {
    backend_ = request_.kind->make(backend_config(request_, plan_), side_jobs_);
  } catch (const Error& error) {
    if (!gpu_ || error.kind() != ErrorKind::out_of_memory) throw;
    throw Error(ErrorKind::out_of_memory,
                std::string(error.what()) + ": the plan requires " + format_bytes(plan_.device_planned_bytes) +
                    " of device memory, but less is free; lower " + option_name("device_bytes") + ", but not below " +
                    as_budget(plan_.device_minimum_bytes));
  }
}

Backend& CpdJob::backend() {
  if (!backend_) make_backend();
  return *backend_;
}

// A disk that is read past the system's cache is a little faster, but what the cache still holds of the last pass is
// many times as fast.
bool CpdJob::is_cache_of_use() const {
  constexpr std::uint64_t min_cached_share = 4;  // a quarter
  const std::uint64_t available = host_budget(0) / 4 * 5;
  const std::uint64_t left = available - std::min(available, plan_.planned_bytes);
  return plan_.disk_bytes_per_pass / min_cached_share <= left;
}

std::unique_ptr<Streamer> CpdJob::make_streamer(ProgressMeter* meter) {
  if (is_cache_of_use()) plan_.direct_bytes = 0;
  // A GPU leaves the CPU's threads free to read; otherwise those that compute also read.
  SideJobs* const jobs = gpu_ ? nullptr : &side_jobs_;
  auto streamer = std::make_unique<Streamer>(tensor_->chunks(), plan_, backend(), jobs, trace_.get(), meter);
  plan_ = streamer->plan();
  return streamer;
}

void CpdJob::close_trace() {
  if (trace_) trace_->close();
}

std::vector<PassLoad> CpdJob::loads() const {
  const TensorSummary& tensor = tensor_->summary();
  std::vector<PassLoad> loads;
  for (std::size_t mode = 0; mode < tensor.shape.size(); ++mode) {
    PassLoad load;
    load.mode = static_cast<int>(mode);
    load.order = static_cast<int>(tensor.shape.size());
    load.rank = request_.backend.rank;
    load.factor_number_bytes = factor_number_bytes(request_.backend.precision);
    load.output_number_bytes = output_number_bytes(request_.backend.precision);
    load.link_bytes = plan_.link_bytes_per_pass;
    load.disk_bytes = plan_.disk_bytes_per_pass;
    for (std::size_t chunk = 0; chunk < sizes_.chunks.size(); ++chunk) {
      const std::uint64_t rows = tensor_->chunks().upper(chunk)[mode] - tensor_->chunks().lower(chunk)[mode] + 1;
      load.nnz += sizes_.chunks[chunk].nnz;
      load.payload_bytes += sizes_.chunks[chunk].payload_bytes;
      load.segments += max_segments(sizes_.chunks[chunk].nnz, rows);
    }
    const auto rank = static_cast<std::uint64_t>(load.rank);
    load.output_bytes = tensor.shape[mode] * rank * load.output_number_bytes;
    for (std::size_t other = 0; other < tensor.shape.size(); ++other) {
      if (other != mode) load.factor_bytes += tensor.shape[other] * rank * load.factor_number_bytes;
    }
    loads.push_back(load);
  }
  return loads;
}

CpdPlan CpdJob::describe() const {
  CpdPlan plan;
  plan.device = backend_ ? backend_->name() : gpu_ ? gpu_->gpu()->name : "host";
  plan.device_note = device_note_;
  plan.memory_note = budget_note(request_.budget_bytes);
  if (plan_.demoted_chunks > 0) {
    if (!plan.memory_note.empty()) plan.memory_note += "; ";
    plan.memory_note += "of the chunks planned to stay in host memory, " + std::to_string(plan_.demoted_chunks) +
                        " must be streamed, because no more can be had: " + plan_.shortage;
  }
  plan.threads = pool_.width();
  plan.slots = plan_.slots;
  plan.chunk_count = plan_.tiers.size();
  for (const Tier tier : plan_.tiers) {
    plan.device_chunks += tier == Tier::device ? 1 : 0;
    plan.decoded_chunks += tier == Tier::decoded ? 1 : 0;
    plan.packed_chunks += tier == Tier::packed ? 1 : 0;
    plan.streamed_chunks += tier == Tier::streamed ? 1 : 0;
  }
  plan.budget_bytes = request_.budget_bytes;
  plan.planned_bytes = plan_.planned_bytes;
  plan.minimum_bytes = plan_.minimum_bytes;
  plan.disk_bytes_per_pass = plan_.disk_bytes_per_pass;
  plan.stops_within_sweep = plan_.keep_previous;
  plan.device_budget_bytes = request_.device_budget_bytes;
  plan.device_planned_bytes = plan_.device_planned_bytes;
  plan.device_minimum_bytes = plan_.device_minimum_bytes;
  plan.resident_bytes = plan_.resident_bytes;
  plan.link_bytes_per_pass = plan_.link_bytes_per_pass;
  if (declared_ != nullptr) {
    for (const PassLoad& load : loads()) plan.passes.push_back(estimate_pass(load, *declared_));
  }
  return plan;
}

}  // namespace blco
