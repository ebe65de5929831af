// Which device a job has, and how much of the factors it holds.
#include <blco/peers.hpp>
#include <string>
#include <vector>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/work/device_list.hpp"
#include "engine/work/job_plan.hpp"

namespace blco {
namespace {

// Shared memory of a block on a declared GPU: that of compute capability 8.0.
constexpr std::uint64_t declared_shared_bytes = 163 << 10;

DeviceLimits limits_of(const DeclaredGpu& gpu) {
  DeviceLimits limits;
  limits.name = "declared GPU";
  limits.multiprocessors = gpu.multiprocessors;
  limits.shared_bytes_per_block = limits.shared_bytes_per_multiprocessor = declared_shared_bytes;
  limits.memory_bytes = limits.free_bytes = gpu.memory_bytes;
  return limits;
}

}  // namespace

void JobPlan::choose_device(const Compute& compute) {
  std::string left_out;
  const std::vector<NamedDevice> named = devices_of(compute, &left_out);
  if (declared_ != nullptr && !named.empty()) {
    refuse("a declared GPU is planned by itself; leave out " + option_name("devices"));
  }
  if (!named.empty()) device_name_ = named[0].name;
  const bool is_gpu_named = !named.empty() && named[0].gpu;
  const bool wants_gpu = declared_ != nullptr || is_gpu_named;
  const bool wants_cpu = !named.empty() && !is_gpu_named;
  const std::string use_cpu = "use " + option_name("devices", "cpu");
  if (compute.deterministic && wants_gpu) {
    refuse("a deterministic job runs on the CPU only, because a GPU adds sums in no fixed order; " + use_cpu +
           ", or leave out " + option_name("deterministic"));
  }
  if (declared_ == nullptr && (wants_cpu || compute.deterministic)) {
    if (named.size() == 1 && compute.devices.front() == "all") {
      device_note_ = "no GPU: " + (left_out.empty() ? find_device().reason : left_out);
    }
    return;
  }
  int sharers = declared_ != nullptr || peers_ == nullptr ? 1 : peers_->gpu_sharers();
  DeviceSearch found;
  if (declared_ != nullptr) {
    found.limits = limits_of(*declared_);
  } else {
    try {
      if (is_gpu_named && *named[0].gpu != NamedDevice::current) {
        current_.emplace(*named[0].gpu);
      } else if (sharers > 1) {
        sharers = take_gpu_in_turn();
      }
      found = find_device();
    } catch (const Error& error) {  // another process may have the GPU for itself
      found = {.reason = error.what(), .kind = error.kind()};
    }
  }
  if (!found.limits) {
    device_note_ = "no GPU: " + found.reason;
    if (wants_gpu) {
      const std::string remedy = found.remedy.empty() ? "" : found.remedy + ", or ";
      throw Error(found.kind, device_note_ + "; " + remedy + use_cpu + ", or leave " + option_name("devices") + " out");
    }
    return;
  }
  gpu_ = gpu_kind(*found.limits);
  needs_.kind = gpu_.get();
  needs_.device_budget_bytes = compute.memory.device_bytes != 0
                                   ? compute.memory.device_bytes
                                   : found.limits->free_bytes / 10 * 9 / static_cast<std::uint64_t>(sharers);
}

// Of the GPUs that this process sees, takes that of its number among the processes that see them. Returns how many of
// these share it.
int JobPlan::take_gpu_in_turn() {
  const int gpus = gpu_count();
  if (gpus < 2) return peers_->gpu_sharers();
  const int number = peers_->gpu_rank() % gpus;
  current_.emplace(number);
  device_name_ = gpu_name(number);
  return (peers_->gpu_sharers() - number + gpus - 1) / gpus;
}

// As few as the device's memory allows, for each costs a pass over the tensor; and with no more of them, of a width
// that has a kernel of its own.
void JobPlan::choose_slabs() {
  const BackendConfig& backend = needs_.backend;
  const auto fits = [&] { return least_device_memory(sizes_, needs_).bytes() <= needs_.device_budget_bytes; };
  if (!gpu_ || !needs_.may_slab || backend.loss_passes || backend.all_outputs) return;
  if (backend.rank < 2 || fits()) return;
  const auto count = [&](int columns) { return (backend.rank + columns - 1) / columns; };
  const auto take = [&](int columns) {
    slabs_ = slab_kind(*gpu_, backend.rank, columns);
    needs_.kind = slabs_.get();
    return fits();
  };
  int slabs = 2;
  while (!take(count(slabs)) && slabs < backend.rank) ++slabs;
  const int least = count(slabs);
  for (const int columns : gpu_kernel_ranks) {
    if (columns >= least && count(columns) == slabs && take(columns)) return;
  }
  take(least);
}

}  // namespace blco
