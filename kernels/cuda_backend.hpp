// The CUDA backend: packed chunks cross the link on lanes and are decoded inside the MTTKRP kernel.
//
// A build without CUDA has these functions too: find_device then says so, and make_cuda_backend throws.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "blco/error.hpp"
#include "kernels/backend.hpp"

namespace blco {

// What the plan and the choice of resolution ask of a device.
struct DeviceLimits {
  std::string name;
  int multiprocessors = 0;
  std::uint64_t l2_bytes = 0;
  std::uint64_t shared_bytes_per_block = 0;  // the most that a kernel can opt in to
  std::uint64_t shared_bytes_per_multiprocessor = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t free_bytes = 0;
};

struct DeviceSearch {
  std::optional<DeviceLimits> limits;
  // Where there is none: why, in one line, and whether the build (not_built) or the machine (cuda) lacks it.
  std::string reason;
  ErrorKind kind = ErrorKind::cuda;
};

// Looks for the current CUDA device. Every failure of the runtime counts as "no GPU". Does not throw.
DeviceSearch find_device() noexcept;

struct DeviceBandwidths {
  double link_bytes_per_second = 0;    // from pinned memory to the device
  double memory_bytes_per_second = 0;  // of a copy within the device: bytes read and bytes written
};

// Measures on the current device with copies of a few hundred MiB. Throws Error: not_built, cuda, out_of_memory.
DeviceBandwidths measure_device_bandwidths();

struct CudaConfig {
  BackendConfig backend;  // private_bytes: for copies of the output beyond the first, in device memory
  DeviceLimits limits;
  int lanes = 2;                     // device buffers, each with its stream; at least the number of staging buffers
  std::uint64_t lane_bytes = 0;      // of each: cuda_chunk_bytes of the largest chunk that crosses the link
  std::uint64_t resident_bytes = 0;  // for chunks kept on the device: the sum of their cuda_chunk_bytes
  Resolution resolution = Resolution::automatic;
};

// Throws Error: not_built; cuda naming the call that failed; out_of_memory; invalid_argument for a mode longer than
// 2^32.
std::unique_ptr<Backend> make_cuda_backend(const CudaConfig& config);

// Device bytes that the backend takes for itself: factors, output and its copies, scratch, lanes; not
// config.resident_bytes.
std::uint64_t cuda_backend_bytes(const CudaConfig& config);

// Device bytes of copies of the output that can be of use: more is not taken.
std::uint64_t cuda_backend_useful_private_bytes(const CudaConfig& config);

// Device bytes of a chunk whose payloads have `payload_bytes` in all.
std::uint64_t cuda_chunk_bytes(std::uint64_t payload_bytes);

}  // namespace blco
