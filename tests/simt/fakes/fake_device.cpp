#include "tests/simt/fakes/fake_device.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "tests/simt/block_runner.hpp"

namespace simt {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

FakeDevice& fake_device() {
  static FakeDevice device;
  static const bool wired = [] {
    device.streams.set_hooks(
        [](int number) {
          device.memory.open(number);
          return device.broken == cudaSuccess;
        },
        [](const std::string& failure) { device.broken = refuse(cudaErrorLaunchFailure, failure); });
    return true;
  }();
  static_cast<void>(wired);
  return device;
}

cudaError_t refuse(cudaError_t code, const std::string& what) {
  FakeDevice& device = fake_device();
  device.failure = what;
  device.failure_code = code;
  return code;
}

cudaError_t injected_fault(const std::string& name) {
  FakeDevice& device = fake_device();
  const auto fault = device.faults.find(name);
  if (fault == device.faults.end() || --fault->second.calls_left > 0) return cudaSuccess;
  const cudaError_t error = fault->second.error;
  device.faults.erase(fault);
  return refuse(error, "a fault that the test asked for");
}

void misuse(const std::string& what) {
  std::fprintf(stderr, "fake CUDA: %s\n", what.c_str());
  std::abort();
}

cudaError_t remember(cudaError_t status) {
  if (status != cudaSuccess && status != cudaErrorNotReady) last_error = status;
  return status;
}

void set_order(Order order, std::uint64_t seed) {
  FakeDevice& device = fake_device();
  const std::lock_guard lock(device.mutex);
  device.order = order;
  device.random.seed(seed);
}

void set_policy(Policy policy, std::uint64_t seed) {
  const std::lock_guard lock(fake_device().mutex);
  fake_device().streams.set_policy(policy, seed);
}

void set_device(const DeviceProperties& properties) {
  const std::lock_guard lock(fake_device().mutex);
  fake_device().properties = properties;
  fake_device().others.clear();
}

void set_device(int number, const DeviceProperties& properties) {
  const std::lock_guard lock(fake_device().mutex);
  fake_device().others[number] = properties;
}

std::uint64_t take_pageable_copies() {
  const std::lock_guard lock(fake_device().mutex);
  return std::exchange(fake_device().pageable_copies, 0);
}

void fail_call(const std::string& name, int nth, int error) {
  const std::lock_guard lock(fake_device().mutex);
  fake_device().faults[name] = {nth, static_cast<cudaError_t>(error)};
}

Counters counters() {
  const FakeDevice& device = fake_device();
  const std::lock_guard lock(fake_device().mutex);
  Counters counts = device.counts;
  for (const auto& [number, link] : device.links) {
    counts.bytes_to_device += link.to_device;
    counts.bytes_to_host += link.to_host;
  }
  counts.live_allocations = device.memory.count();
  counts.live_pinned = device.pinned.count();
  counts.live_streams = device.streams.count();
  counts.live_events = device.events.size();
  counts.pending = device.streams.pending();
  return counts;
}

LinkBytes link_bytes(int device) {
  const std::lock_guard lock(fake_device().mutex);
  return fake_device().links[device];
}

std::string last_failure() {
  const std::lock_guard lock(fake_device().mutex);
  return fake_device().failure;
}

void reset() {
  FakeDevice& device = fake_device();
  const std::lock_guard lock(device.mutex);
  device.properties = {};
  device.others.clear();
  device.contexts.clear();
  device.order = Order::forward;
  device.random.seed(1);
  device.streams.set_policy(Policy::eager, 1);
  device.faults.clear();
  device.devices_of_kernels.clear();
  device.shared_bytes.clear();
  for (auto& of_device : device.links) of_device.second = {};
  device.counts = {.live_bytes = device.counts.live_bytes,
                   .max_bytes = device.counts.live_bytes,
                   .live_pinned_bytes = device.counts.live_pinned_bytes};
  device.broken = device.failure_code = cudaSuccess;
  device.failure.clear();
  last_error = cudaSuccess;
}

}  // namespace simt

cudaError_t cudaPeekAtLastError() { return simt::last_error; }

cudaError_t cudaGetLastError() {
  const std::lock_guard lock(simt::fake_device().mutex);
  const cudaError_t error = simt::last_error;
  simt::last_error = simt::fake_device().broken;
  return error;
}
