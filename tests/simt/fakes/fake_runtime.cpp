// The few calls of the CUDA runtime that blco makes. What a program must never do is an error that says what it did,
// or, in calls that destructors make, the end of the program.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/primary_context.hpp"
#include "tests/simt/fakes/fake_device.hpp"

using simt::call;
using simt::call_to_end;
using simt::call_without_context;
using simt::current_device;
using simt::FakeDevice;
using simt::Operation;
using simt::refuse;

namespace {

constexpr unsigned max_threads_of_block = 1024;
thread_local int runtime_device = 0;
thread_local std::vector<int> pushed_devices;  // above it

constexpr std::size_t usual_shared_bytes = 48 << 10;  // of a kernel that has not opted in to more

cudaError_t queue(FakeDevice& device, cudaStream_t stream, Operation operation) {
  if (stream == nullptr) return refuse(cudaErrorInvalidResourceHandle, "work for the default stream");
  if (!device.streams.exists(stream)) return refuse(cudaErrorInvalidResourceHandle, "work for a stream that is none");
  device.streams.queue(stream, std::move(operation));
  return cudaSuccess;
}

auto find(FakeDevice& device, cudaEvent_t event) {
  return std::ranges::find(device.events, event, &std::unique_ptr<CUevent_st>::get);
}

bool exists(FakeDevice& device, cudaEvent_t event) { return find(device, event) != device.events.end(); }

cudaError_t no_event() { return refuse(cudaErrorInvalidResourceHandle, "an event that is none"); }

// Pageable memory is all that neither a device nor a call that pins knows.
cudaError_t check_host_side(FakeDevice& device, const void* host, std::size_t bytes, bool& is_pageable) {
  if (device.pinned.contains(host, bytes)) return cudaSuccess;
  if (device.pinned.contains(host, 1) || device.memory.contains(host, 1)) {
    return refuse(cudaErrorInvalidValue, "a copy of host memory that is neither pinned as a whole nor pageable");
  }
  is_pageable = true;
  ++device.pageable_copies;
  return cudaSuccess;
}

cudaError_t check_device_side(FakeDevice& device, const void* memory, std::size_t bytes, cudaStream_t stream) {
  const std::optional<int> owner = device.memory.device_of(memory, bytes);
  if (!owner) {
    return refuse(cudaErrorInvalidValue, std::to_string(bytes) + " bytes that do not lie in one device allocation");
  }
  if (!device.streams.exists(stream) || stream->device == *owner) return cudaSuccess;
  return refuse(cudaErrorInvalidValue, "memory of another device than the stream's");
}

}  // namespace

int simt::current_device() { return pushed_devices.empty() ? runtime_device : pushed_devices.back(); }

// These two work without a device, and without a driver.
cudaError_t cudaDriverGetVersion(int* version) {
  const std::lock_guard lock(simt::fake_device().mutex);
  *version = simt::fake_device().properties.driver_version;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = simt::runtime_version;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  return call_without_context("cudaGetDeviceCount", [&](FakeDevice& device) {
    *count = device.properties.count;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device_number) {
  return call_without_context("cudaGetDevice", [&](FakeDevice&) {
    *device_number = current_device();
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device_number) {
  return call_without_context("cudaSetDevice", [&](FakeDevice& device) {
    if (device_number < 0 || device_number >= device.properties.count) return cudaErrorInvalidDevice;
    (pushed_devices.empty() ? runtime_device : pushed_devices.back()) = device_number;
    return device.make_context(device_number);
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device_number) {
  return call_without_context("cudaGetDeviceProperties", [&](FakeDevice& device) {
    if (device_number >= device.properties.count) return refuse(cudaErrorInvalidValue, "no such device");
    const simt::DeviceProperties& given = device.of(device_number);
    *properties = {};
    std::snprintf(properties->name, sizeof(properties->name), "%s", given.name.c_str());
    properties->totalGlobalMem = given.memory_bytes;
    properties->sharedMemPerBlockOptin = given.shared_bytes_per_block;
    properties->sharedMemPerMultiprocessor = given.shared_bytes_per_multiprocessor;
    properties->multiProcessorCount = given.multiprocessors;
    properties->l2CacheSize = static_cast<int>(given.l2_bytes);
    properties->major = given.major;
    properties->minor = given.minor;
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  return call("cudaMemGetInfo", [&](FakeDevice& device) {
    *total_bytes = device.of(current_device()).memory_bytes;
    *free_bytes = *total_bytes - device.memory.taken_of(current_device());
    return cudaSuccess;
  });
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return call("cudaMalloc", [&](FakeDevice& device) {
    *memory = nullptr;
    if (bytes == 0) return cudaSuccess;
    simt::Counters& counts = device.counts;
    const simt::DeviceProperties& properties = device.of(current_device());
    const std::uint64_t free_bytes = properties.memory_bytes - device.memory.taken_of(current_device());
    const std::uint64_t granules = (bytes + properties.granule_bytes - 1) / properties.granule_bytes;
    if (granules * properties.granule_bytes > free_bytes) return cudaErrorMemoryAllocation;
    *memory = device.memory.allocate(bytes, properties.granule_bytes, current_device());
    if (*memory == nullptr) return cudaErrorMemoryAllocation;
    counts.live_bytes += device.memory.taken(*memory);
    counts.max_bytes = std::max(counts.max_bytes, counts.live_bytes);
    return cudaSuccess;
  });
}

// As CUDA does, waits for all work first.
cudaError_t cudaFree(void* memory) {
  return call_to_end("cudaFree", [&](FakeDevice& device) {
    if (memory == nullptr) return cudaSuccess;
    device.streams.finish_all();
    if (device.memory.size(memory) == 0) simt::misuse("cudaFree of what is not allocated");
    device.counts.live_bytes -= device.memory.taken(memory);
    device.memory.open(*device.memory.device_of(memory, 1));
    device.memory.release(memory);
    return cudaSuccess;
  });
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return call("cudaHostAlloc", [&](FakeDevice& device) {
    *memory = nullptr;
    if (bytes == 0) return cudaSuccess;
    simt::Counters& counts = device.counts;
    if (counts.live_pinned_bytes + bytes > device.properties.pinned_bytes) return cudaErrorMemoryAllocation;
    *memory = device.pinned.allocate(bytes, 1);
    if (*memory == nullptr) return cudaErrorMemoryAllocation;
    counts.live_pinned_bytes += bytes;
    return cudaSuccess;
  });
}

cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  return cudaHostAlloc(memory, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void* memory) {
  return call_to_end("cudaFreeHost", [&](FakeDevice& device) {
    if (memory == nullptr) return cudaSuccess;
    if (device.pinned.size(memory) == 0) simt::misuse("cudaFreeHost of what is not allocated");
    if (device.streams.uses({static_cast<const std::byte*>(memory), device.pinned.size(memory)})) {
      simt::misuse("cudaFreeHost of memory that a queued copy uses");
    }
    device.counts.live_pinned_bytes -= device.pinned.size(memory);
    device.pinned.release(memory);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call("cudaDeviceGetStreamPriorityRange", [&](FakeDevice&) {
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return call("cudaStreamCreateWithFlags", [&](FakeDevice& device) {
    if (flags != cudaStreamNonBlocking) {
      return refuse(cudaErrorInvalidValue, "a stream that synchronises with the default stream");
    }
    *stream = device.streams.create();
    (*stream)->device = current_device();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return call("cudaStreamCreateWithPriority", [&](FakeDevice&) { return cudaStreamCreateWithFlags(stream, flags); });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call_to_end("cudaStreamDestroy", [&](FakeDevice& device) {
    if (!device.streams.exists(stream)) simt::misuse("cudaStreamDestroy of what is no stream");
    device.streams.destroy(stream);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return call("cudaStreamWaitEvent", [&](FakeDevice& device) {
    if (!exists(device, event)) return no_event();
    return queue(device, stream, {.waits_for = event->last});
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return call_to_end("cudaStreamSynchronize", [&](FakeDevice& device) {
    if (!device.streams.exists(stream)) return refuse(cudaErrorInvalidResourceHandle, "a stream that is none");
    device.streams.finish(stream);
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return call("cudaEventCreateWithFlags", [&](FakeDevice& device) {
    device.events.push_back(std::make_unique<CUevent_st>());
    device.events.back()->timed = (flags & cudaEventDisableTiming) == 0;
    device.events.back()->polls = (flags & cudaEventBlockingSync) == 0;
    device.events.back()->device = current_device();
    *event = device.events.back().get();
    return cudaSuccess;
  });
}

// Work that waits for one of its records, or is to reach it, may still be queued: it stays as it is.
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call_to_end("cudaEventDestroy", [&](FakeDevice& device) {
    const auto found = find(device, event);
    if (found == device.events.end()) simt::misuse("cudaEventDestroy of what is no event");
    device.events.erase(found);
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call("cudaEventRecord", [&](FakeDevice& device) {
    if (!exists(device, event)) return no_event();
    if (device.streams.exists(stream) && stream->device != event->device) {
      return refuse(cudaErrorInvalidResourceHandle, "an event of another device than the stream's");
    }
    auto record = std::make_shared<simt::Record>();
    record->stream = stream;
    const cudaError_t status = queue(device, stream, {.reaches = record});
    if (status == cudaSuccess) event->last = std::move(record);
    return status;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call_to_end("cudaEventSynchronize", [&](FakeDevice& device) {
    if (!exists(device, event)) return no_event();
    const std::uint64_t before = device.kernels_run;
    if (event->last != nullptr) device.streams.finish(*event->last);
    if (event->polls) device.counts.polled_kernels += device.kernels_run - before;
    return cudaSuccess;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call("cudaEventQuery", [&](FakeDevice& device) {
    if (!exists(device, event)) return no_event();
    if (event->last == nullptr) return cudaSuccess;
    if (!event->last->reached) return cudaErrorNotReady;
    device.streams.finish(*event->last);
    return cudaSuccess;
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  return call("cudaEventElapsedTime", [&](FakeDevice& device) {
    if (!exists(device, begin) || !exists(device, end) || begin->last == nullptr || end->last == nullptr) {
      return no_event();
    }
    if (begin->device != end->device) return refuse(cudaErrorInvalidResourceHandle, "a time between two devices");
    if (!begin->timed || !end->timed) return refuse(cudaErrorInvalidResourceHandle, "an event that takes no time");
    if (!begin->last->reached || !end->last->reached) return cudaErrorNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(end->last->time - begin->last->time).count();
    return cudaSuccess;
  });
}

// Bytes are read and written when the copy runs, not when it is queued; those of pageable memory before it returns.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return call("cudaMemcpyAsync", [&](FakeDevice& device) {
    const bool from_host = kind == cudaMemcpyHostToDevice;
    const bool to_host = kind == cudaMemcpyDeviceToHost;
    bool is_pageable = false;
    cudaError_t status =
        from_host ? check_host_side(device, from, bytes, is_pageable) : check_device_side(device, from, bytes, stream);
    if (status == cudaSuccess) {
      status = to_host ? check_host_side(device, to, bytes, is_pageable) : check_device_side(device, to, bytes, stream);
    }
    if (status != cudaSuccess) return status;
    Operation copy;
    if (from_host || to_host) copy.pinned = {static_cast<const std::byte*>(from_host ? from : to), bytes};
    simt::LinkBytes& link = device.links[device.memory.device_of(from_host ? to : from, bytes).value()];
    copy.run = [&device, &link, to, from, bytes, from_host, to_host] {
      std::memcpy(to, from, bytes);
      if (from_host) link.to_device += bytes;
      if (from_host) ++device.counts.copies_to_device;
      if (to_host) link.to_host += bytes;
    };
    status = queue(device, stream, std::move(copy));
    if (is_pageable && status == cudaSuccess) device.streams.finish(stream);
    return status;
  });
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return call("cudaMemsetAsync", [&](FakeDevice& device) {
    const cudaError_t status = check_device_side(device, to, bytes, stream);
    if (status != cudaSuccess) return status;
    return queue(device, stream, {.run = [to, value, bytes] { std::memset(to, value, bytes); }});
  });
}

cudaError_t simt::opt_in_to_shared_bytes(const void* kernel, std::size_t bytes) {
  return call("cudaFuncSetAttribute", [&](FakeDevice& device) {
    if (bytes > device.of(current_device()).shared_bytes_per_block) {
      return refuse(cudaErrorInvalidValue, std::to_string(bytes) + " bytes of shared memory are more than a block has");
    }
    device.shared_bytes[{current_device(), kernel}] = bytes;
    return cudaSuccess;
  });
}

cudaError_t simt::find_attributes(cudaFuncAttributes* attributes) {
  return call("cudaFuncGetAttributes", [&](FakeDevice&) {
    *attributes = {};
    return cudaSuccess;
  });
}

cudaError_t simt::queue_kernel(const void* kernel, unsigned blocks, unsigned threads, std::size_t shared_bytes,
                               cudaStream_t stream, std::function<void()> thread) {
  return call("launch", [&](FakeDevice& device) {
    if (device.streams.exists(stream) && stream->device != current_device()) {
      return refuse(cudaErrorInvalidResourceHandle, "a kernel in a stream of another device than the thread's");
    }
    if (blocks == 0) return refuse(cudaErrorInvalidValue, "a kernel of no blocks");
    if (threads == 0 || threads > max_threads_of_block) {
      return refuse(cudaErrorInvalidValue, "a kernel of " + std::to_string(threads) + " threads a block");
    }
    const auto opted_in = device.shared_bytes.find({current_device(), kernel});
    const std::size_t most = opted_in != device.shared_bytes.end() ? opted_in->second : usual_shared_bytes;
    if (shared_bytes > most) {
      return refuse(cudaErrorInvalidValue, "a kernel of " + std::to_string(shared_bytes) +
                                               " bytes of shared memory, which may have " + std::to_string(most));
    }
    ++device.counts.kernels;
    device.devices_of_kernels.insert(current_device());
    const GridShape grid{blocks, threads, shared_bytes};
    const bool fails = simt::injected_fault("kernel") != cudaSuccess;
    const auto run = [&device, grid, fails, order = device.order, seed = device.random(), thread = std::move(thread)] {
      ++device.kernels_run;
      if (fails) throw KernelFailure("a fault that the test asked for");
      run_grid(grid, order, seed, thread);
    };
    return queue(device, stream, {.run = run});
  });
}

namespace blco::cuda {

void push_context(int number) {
  check(call_without_context("cuCtxPushCurrent",
                             [&](FakeDevice& device) {
                               if (number < 0 || number >= device.properties.count) return cudaErrorInvalidDevice;
                               const cudaError_t status = device.make_context(number);
                               if (status == cudaSuccess) pushed_devices.push_back(number);
                               return status;
                             }),
        "cuCtxPushCurrent");
}

void pop_context() noexcept { pushed_devices.pop_back(); }

}  // namespace blco::cuda
