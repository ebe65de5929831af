#include "engine/work/job.hpp"

#include <algorithm>
#include <blco/peers.hpp>
#include <utility>
#include <vector>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "engine/common/compile_note.hpp"
#include "engine/common/memory.hpp"
#include "engine/work/device_list.hpp"
#include "engine/work/job_order.hpp"

namespace blco {
namespace {

std::unique_ptr<ServingThreads> threads_for(const Compute& compute) {
  const std::vector<NamedDevice> devices = devices_of(compute);
  if (devices.size() < 2) return nullptr;
  std::vector<ThreadWorker> workers;
  for (const Compute& part : parts_of(compute, devices)) {
    const NamedDevice& device = devices[workers.size()];
    workers.push_back({part, device.name, device.share, device.gpu});
  }
  return std::make_unique<ServingThreads>(std::move(workers));
}

[[noreturn]] void throw_with_advice(const NoPinnedMemory& error) {
  throw Error(error.kind(), std::string(error.what()) +
                                ": the system lets no more host memory be pinned for the GPU; " + "lower " +
                                option_name("host_bytes") + ", or use " + option_name("devices", "cpu"));
}

}  // namespace

Job::Job(const Tensor& tensor, const Compute& compute, const JobNeeds& needs, const DeclaredGpu* declared)
    : Job(threads_for(compute), tensor, compute, needs, declared) {}

Job::Job(std::unique_ptr<ServingThreads> threads, const Tensor& tensor, const Compute& compute, const JobNeeds& needs,
         const DeclaredGpu* declared)
    : JobPlan(tensor, threads ? threads->compute(0) : compute, needs, declared),
      threads_(std::move(threads)),
      pool_(needs_.threads),
      side_jobs_(pool_),
      on_compile_(compute.on_compile) {
  if (threads_) {
    needs_.budget_bytes = job_budget(compute);
    devices_of(compute, &device_note_);
    plan_devices();
  } else if (holds_all_) {
    plan_known_rows();
  }
  if (peers_ != nullptr && peers_->rank() == 0) needs_.draws = queue_ != nullptr && has_chunks_to_share();
  if (!compute.trace.empty() && declared == nullptr) trace_ = std::make_unique<ChromeTrace>(compute.trace);
  needs_.backend.trace = trace_.get();
}

// Each device gets the memory that it cannot do without, and its share of the rest.
void Job::plan_devices() {
  const std::uint64_t whole = needs_.budget_bytes;
  needs_.savings.push_back({.words = "fewer devices", .term = "the other devices"});
  const JobNeeds theirs = needs_of_peer(*tensor_, needs_);
  const auto plan_other = [&](std::size_t rank, std::uint64_t budget) {
    threads_->compute(rank).memory.host_bytes = budget;
    try {
      JobPlan other(*tensor_, threads_->compute(rank), theirs);
      other.plan_alone();
      return other.describe();
    } catch (const Error& error) {
      throw Error(error.kind(), threads_->name(rank) + ": " + error.what());
    }
  };
  needs_.budget_bytes = ample_bytes;
  const std::uint64_t least = std::exchange(needs_.least_bytes, 0);
  Account of_all = make_plan(sizes_, needs_).least;
  std::vector<std::uint64_t> minimums = {of_all.bytes()};
  double shares = peers_->share(0);
  for (std::size_t rank = 1; rank < threads_->size(); ++rank) {
    minimums.push_back(plan_other(rank, ample_bytes).minimum_bytes);
    of_all.take_by_rank("the other devices", minimums.back());
    shares += peers_->share(static_cast<int>(rank));
  }
  const std::uint64_t minimum = of_all.bytes();
  of_all.take_by_rank("sampling before the fit", least - std::min(least, minimum));
  needs_.budget_bytes = whole;
  check_budget(of_all, needs_);
  const auto budget_of = [&](std::size_t rank) {
    const double part = peers_->share(static_cast<int>(rank)) / shares;
    return minimums[rank] + static_cast<std::uint64_t>(static_cast<double>(whole - minimum) * part);
  };
  needs_.budget_bytes = budget_of(0);
  plan_ = make_plan(sizes_, needs_);
  for (std::size_t rank = 1; rank < threads_->size(); ++rank) {
    plan_.others.push_back(plan_other(rank, budget_of(rank)));
    plan_.planned_bytes += plan_.others.back().planned_bytes;
  }
  plan_.least = of_all;
  plan_.minimum_bytes = of_all.bytes();
  needs_.budget_bytes = whole;
  is_planned_ = true;
}

void Job::make_backend() {
  plan_alone();
  if (gpu_) tell_of_compiling(*gpu_->gpu(), on_compile_);
  try {
    backend_ = needs_.kind->make(backend_config(needs_, plan_), side_jobs_);
    backend_name_ = backend_->name();
  } catch (const NoPinnedMemory& error) {
    throw_with_advice(error);
  } catch (const Error& error) {
    if (!gpu_ || error.kind() != ErrorKind::out_of_memory) throw;
    throw Error(ErrorKind::out_of_memory,
                std::string(error.what()) + ": the plan requires " + format_bytes(plan_.device_planned_bytes) +
                    " of device memory, but less is free; lower " + option_name("device_bytes") + ", but not below " +
                    as_budget(plan_.device_minimum_bytes));
  }
}

Backend& Job::backend() {
  if (!backend_) make_backend();
  return *backend_;
}

// A disk that is read past the system's cache is a little faster, but what the cache still holds of the last pass is
// many times as fast.
bool Job::is_cache_of_use() const {
  constexpr std::uint64_t min_cached_share = 4;  // a quarter
  const std::uint64_t available = host_budget(0) / 4 * 5;
  const std::uint64_t left = available - std::min(available, plan_.planned_bytes);
  return plan_.disk_bytes_per_pass / min_cached_share <= left;
}

std::unique_ptr<Streamer> Job::make_streamer(ProgressMeter* meter) {
  if (is_cache_of_use()) plan_.direct_bytes = 0;
  // A GPU leaves the CPU's threads free to read; otherwise those that compute also read.
  SideJobs* const jobs = gpu_ ? nullptr : &side_jobs_;
  QueueShare share;
  if (needs_.draws) {
    const std::uint64_t all = TensorChunks::of(*tensor_).info().chunk_count();
    share = {queue_, static_cast<std::size_t>(peers_->rank()), chunk_range(all, peers_->rank(), *peers_).begin};
    if (!gpu_) share.gpu = queue_->gpu();
  }
  const ChunkSource& source = needs_.draws ? TensorChunks::of(*tensor_) : pass_chunks();
  std::unique_ptr<Streamer> streamer;
  try {
    streamer = std::make_unique<Streamer>(source, plan_, backend(), jobs, trace_.get(), meter, share);
  } catch (const NoPinnedMemory& error) {
    throw_with_advice(error);
  }
  static_cast<StreamPlan&>(plan_) = streamer->plan();
  plan_.planned_bytes -= std::min(plan_.planned_bytes, plan_.demoted_bytes);
  return streamer;
}

std::unique_ptr<WorkerGroup> Job::make_workers(ProgressMeter* meter) {
  const bool is_alone = !has_peers();
  if (threads_) threads_->serve(*tensor_);
  std::unique_ptr<JobAtPeers> at_peers;
  std::unique_ptr<RowMoves> moves;
  if (!is_alone) {
    at_peers = std::make_unique<JobAtPeers>(*peers_);
    moves = share_rows(at_peers->tree());
  }
  auto workers = std::make_unique<WorkerGroup>(backend(), make_streamer(meter), pool_);
  if (meter != nullptr) {
    const double share = share_ ? static_cast<double>(share_->info().nnz) / static_cast<double>(tensor_->nnz()) : 1;
    meter->count_share(needs_.kind->slabs() * share);
  }
  workers->keep(make_numbers(moves.get()), make_matrices(moves.get()));
  if (is_alone) return workers;
  if (needs_.draws) workers->share(*queue_);
  workers->lead(std::move(at_peers), std::move(moves), backend_config(needs_, plan_),
                TensorChunks::of(*tensor_).info().chunk_count());
  return workers;
}

void Job::close_trace() {
  if (trace_) trace_->close();
}

}  // namespace blco
