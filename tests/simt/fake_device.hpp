// The state of the one emulated device, behind one lock, and how a runtime call works on it.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/simt/fake_memory.hpp"
#include "tests/simt/fake_streams.hpp"
#include "tests/simt/simt_control.hpp"

struct CUevent_st {
  std::shared_ptr<simt::Record> last;  // null: never recorded
  bool timed = false;
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
  FakeMemory memory;
  FakeMemory pinned;
  FakeStreams streams;
  std::set<int> devices_of_kernels;                 // numbers
  std::map<const void*, std::size_t> shared_bytes;  // that a kernel has opted in to
  std::vector<std::unique_ptr<CUevent_st>> events;

  Order order = Order::forward;
  std::mt19937_64 random{1};
  std::map<std::string, InjectedFault> faults;
  Counters counts;

  cudaError_t broken = cudaSuccess;  // every call returns it after a kernel has failed
  std::string failure;
  cudaError_t failure_code = cudaSuccess;
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

// Runs a runtime call: `body`, unless a fault is injected, there is no device, or it is broken.
template <class Body>
cudaError_t call(const char* name, const Body& body) {
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

// Same for a call that finishes or frees something, which also works on a broken device.
template <class Body>
cudaError_t call_to_end(const char* name, const Body& body) {
  FakeDevice& device = fake_device();
  const std::lock_guard lock(device.mutex);
  cudaError_t status = body(device);
  if (status == cudaSuccess) status = injected_fault(name);
  if (status == cudaSuccess) status = device.broken;
  device.memory.close();
  return remember(status);
}

}  // namespace simt
