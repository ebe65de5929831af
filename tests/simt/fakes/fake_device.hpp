// The state of the emulated devices, behind one lock, and how a runtime call works on it.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/simt/fakes/fake_memory.hpp"
#include "tests/simt/fakes/fake_streams.hpp"
#include "tests/simt/simt_control.hpp"

struct CUevent_st {
  std::shared_ptr<simt::Record> last;  // null: never recorded
  bool timed = false;
  bool polls = false;  // who waits for it
  int device = 0;
};

namespace simt {

inline constexpr int runtime_version = 13000;

struct InjectedFault {
  int calls_left = 0;
  cudaError_t error = cudaSuccess;
};

struct FakeDevice {
  std::recursive_mutex mutex;
  DeviceProperties properties;
  std::map<int, DeviceProperties> others;  // of devices that differ, by their numbers
  FakeMemory memory;
  FakeMemory pinned;
  FakeStreams streams;
  std::set<int> contexts;                                           // devices that have one
  std::set<int> devices_of_kernels;                                 // numbers
  std::map<std::pair<int, const void*>, std::size_t> shared_bytes;  // that a kernel has opted in to on a device
  std::vector<std::unique_ptr<CUevent_st>> events;

  Order order = Order::forward;
  std::mt19937_64 random{1};
  std::map<std::string, InjectedFault> faults;
  Counters counts;
  std::map<int, LinkBytes> links;  // of the devices' numbers
  std::uint64_t kernels_run = 0;
  std::uint64_t pageable_copies = 0;

  cudaError_t broken = cudaSuccess;  // every call returns it after a kernel has failed
  std::string failure;
  cudaError_t failure_code = cudaSuccess;

  const DeviceProperties& of(int number) const {
    const auto other = others.find(number);
    return other == others.end() ? properties : other->second;
  }
  // Of the thread's device, as almost every call does first.
  cudaError_t make_context(int number) {
    if (of(number).is_taken) return cudaErrorDevicesUnavailable;
    contexts.insert(number);
    return cudaSuccess;
  }
};

FakeDevice& fake_device();

// Stores a message about the fault and returns `code`.
cudaError_t refuse(cudaError_t code, const std::string& what);

// The error that a test has injected into this call, if it is its turn.
cudaError_t injected_fault(const std::string& name);

// Ends the program: for faults in destructors, whose errors nobody would see.
[[noreturn]] void misuse(const std::string& what);

// Sets the thread's last error.
cudaError_t remember(cudaError_t status);

// The thread's: what the runtime has set, or what a call of the driver has put above it.
int current_device();

// Runs a call that needs no context: `body`, unless a fault is injected, there is no device, or it is broken.
template <class Body>
cudaError_t call_without_context(const char* name, const Body& body) {
  FakeDevice& device = fake_device();
  const std::lock_guard lock(device.mutex);
  cudaError_t status = injected_fault(name);
  if (status == cudaSuccess && device.properties.driver_version < runtime_version) status = cudaErrorInsufficientDriver;
  if (status == cudaSuccess && !device.properties.present) status = cudaErrorNoDevice;
  if (status == cudaSuccess) status = device.broken;
  if (status == cudaSuccess) status = body(device);
  if (status == cudaSuccess) status = device.broken;
  device.memory.close();
  return remember(status);
}

// Same for a call that makes one on the thread's device, if there is none yet.
template <class Body>
cudaError_t call(const char* name, const Body& body) {
  return call_without_context(name, [&](FakeDevice& device) {
    const cudaError_t status = device.make_context(current_device());
    return status == cudaSuccess ? body(device) : status;
  });
}

// Same for a call that finishes or frees something, which also works on a broken device.
template <class Body>
cudaError_t call_to_end(const char* name, const Body& body) {
  FakeDevice& device = fake_device();
  const std::lock_guard lock(device.mutex);
  cudaError_t status = device.make_context(current_device());
  if (status == cudaSuccess) status = body(device);
  if (status == cudaSuccess) status = injected_fault(name);
  if (status == cudaSuccess) status = device.broken;
  device.memory.close();
  return remember(status);
}

}  // namespace simt
