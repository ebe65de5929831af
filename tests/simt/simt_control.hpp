// Lets tests control the emulated device: order of threads and streams, faults, and counts of moved bytes.
#pragma once

#include <cstdint>
#include <string>

namespace simt {

// True if this program looks for races; it finds them whatever the order of threads.
#ifdef __SANITIZE_THREAD__
inline constexpr bool finds_races = true;
#else
inline constexpr bool finds_races = false;
#endif

// The order in which the threads of a block, and the blocks of a grid, run between collectives.
enum class Order { forward, reverse, shuffled };
void set_order(Order order, std::uint64_t seed = 1);
inline std::string name_of(Order order) {
  return order == Order::forward ? "forward" : order == Order::reverse ? "reverse" : "shuffled";
}

// When queued work runs: at once; only when something waits for it, and then only what that needs; or in a random
// interleaving that streams and events allow, some of it at every call.
enum class Policy { eager, lazy, shuffled };
void set_policy(Policy policy, std::uint64_t seed = 1);

struct DeviceProperties {
  std::string name = "emulated";
  int major = 8;  // compute capability
  int minor = 0;
  int multiprocessors = 4;
  std::uint64_t l2_bytes = 1 << 20;
  std::uint64_t shared_bytes_per_block = 160 << 10;
  std::uint64_t shared_bytes_per_multiprocessor = 164 << 10;
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;
  std::uint64_t granule_bytes = 2 << 20;                // cudaMalloc takes whole ones of the memory
  std::uint64_t pinned_bytes = std::uint64_t{1} << 40;  // most that cudaHostAlloc gives
  int driver_version = 13000;  // as CUDA writes 13.0; 0: no driver. Below the runtime's, no other call works
  bool present = true;         // otherwise the driver finds no device
  int count = 1;               // of such devices, each with memory, streams and events of its own
  bool is_taken = false;       // by another process, which has it for itself: no context can be made
  bool has_cublas = true;      // otherwise it is not found
};
void set_device(const DeviceProperties& properties);
// Of the device of that number alone, until the next call of the other.
void set_device(int number, const DeviceProperties& properties);

// The n-th call from now on (1: the next) of the runtime function `name` returns `error`, a cudaError_t. "launch" is a
// kernel launch. "kernel" is a kernel that launches but fails when it runs; the device then stays broken, as after an
// invalid access.
void fail_call(const std::string& name, int nth, int error);

struct Counters {
  std::uint64_t bytes_to_device = 0;  // copied, not only queued
  std::uint64_t copies_to_device = 0;
  std::uint64_t bytes_to_host = 0;
  std::uint64_t kernels = 0;  // launched
  // That ran while a thread waited by polling, which takes a processor.
  std::uint64_t polled_kernels = 0;
  std::uint64_t live_allocations = 0;
  std::uint64_t live_bytes = 0;  // of device memory, in whole granules
  std::uint64_t max_bytes = 0;   // that were alive at once
  std::uint64_t live_pinned = 0;
  std::uint64_t live_pinned_bytes = 0;
  std::uint64_t live_streams = 0;
  std::uint64_t live_events = 0;
  std::uint64_t pending = 0;  // operations that have not run yet
};
Counters counters();

// What copies have moved between the host and one device; rows that kernels read or write in pinned memory are not of
// them.
struct LinkBytes {
  std::uint64_t to_device = 0;
  std::uint64_t to_host = 0;
};
LinkBytes link_bytes(int device);

// Copies between a device and memory that is not pinned, since the last call of this. They wait for the stream, and for
// the copy.
std::uint64_t take_pageable_copies();

// The last fault of a kernel or a call; empty if there was none.
std::string last_failure();

// Resets all settings, faults, failures and counts of bytes and kernels. Live objects stay.
void reset();

}  // namespace simt
