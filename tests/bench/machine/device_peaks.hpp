// Measures the current CUDA device: what passes are limited by, and what it does at most.
//
// These functions exist without CUDA too, and throw then.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/bench/machine/machine_peaks.hpp"
#include "tests/bench/machine/roofline.hpp"

namespace blco {

struct DeviceBandwidths {
  double link_bytes_per_second = 0;    // from pinned memory to the device
  double memory_bytes_per_second = 0;  // a copy within the device, bytes read plus bytes written
  double cache_bytes_per_second = 0;   // reads of a quarter of the L2 cache
  // Atomic additions of a number, each to its own address in a quarter of the L2 cache, neighbours by one warp.
  double f64_additions_per_second = 0;
  double f32_additions_per_second = 0;
};

// Measures the current device with copies of a few hundred MiB and two kernels. Throws Error: not_built, cuda,
// out_of_memory.
DeviceBandwidths measure_device_bandwidths();

// What the device does at most, for a roofline. Bytes are those that all threads load: each word counts whenever it is
// loaded, and nothing is stored.
struct DevicePeaks {
  std::uint64_t shared_bytes = 0;  // what is loaded again and again: of each multiprocessor's shared memory,
  std::uint64_t cache_bytes = 0;   // a quarter of the L2 cache, past the L1 cache,
  std::uint64_t memory_bytes = 0;  // and many times the L2 cache, where an eighth of the free memory is as much
  double shared_bytes_per_second = 0;
  double cache_bytes_per_second = 0;
  double memory_bytes_per_second = 0;
  // A fused multiply-add counts as two. Tensor cores are not used, since MTTKRP has no use for them.
  double f64_flops_per_second = 0;
  double f32_flops_per_second = 0;
  std::vector<WarpSpeed> warps;
};

// Measures the current device. Throws Error: not_built, cuda (also if a sum of what was loaded is wrong),
// out_of_memory.
DevicePeaks measure_device_peaks(const PeakEffort& effort = {});

}  // namespace blco
