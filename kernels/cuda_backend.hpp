// The CUDA backend: packed chunks cross the link on slots and are decoded inside the MTTKRP kernel.
//
// These functions exist without CUDA too: find_device then reports that, and make_cuda_backend throws.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "blco/error.hpp"
#include "kernels/backend.hpp"
#include "kernels/kernel_variant.hpp"

namespace blco {

// Properties of a device that the plan and the choice of conflict resolution depend on.
struct DeviceLimits {
  std::string name;
  int multiprocessors = 0;
  std::uint64_t l2_bytes = 0;
  std::uint64_t shared_bytes_per_block = 0;  // most that a kernel can opt in to
  std::uint64_t shared_bytes_per_multiprocessor = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t free_bytes = 0;
};

struct DeviceSearch {
  std::optional<DeviceLimits> limits = {};
  // Without limits: the reason, in one line, and what lacks the GPU: the build (not_built) or the machine (cuda).
  std::string reason = {};
  ErrorKind kind = ErrorKind::cuda;
  std::string remedy = {};  // what to do about the reason, where that is known

  std::string text() const { return remedy.empty() ? reason : reason + "; " + remedy; }
};

// Looks for the current CUDA device, and for what keeps this build from running on it: driver, compute capability, a
// missing cuBLAS, a failure of the runtime. Never throws.
DeviceSearch find_device() noexcept;

struct CudaConfig {
  BackendConfig backend;  // private_bytes: device memory for copies of outputs beyond the first
  DeviceLimits limits;
  int slots = 2;                     // device buffers, each with its stream; at least as many as staging buffers
  std::uint64_t slot_bytes = 0;      // of each slot: at least cuda_chunk_bytes of any chunk that crosses the link
  std::uint64_t resident_bytes = 0;  // for chunks kept on the device: the sum of their cuda_chunk_bytes
  ConflictResolution conflict_resolution = ConflictResolution::automatic;
  KernelVariant variant = KernelVariant::usual;
  int blocks_per_multiprocessor = 0;  // of the MTTKRP kernel, at most; 0: as many as fit
};

// Throws Error: not_built, cuda (naming the call that failed), out_of_memory, invalid_argument (a mode longer than
// 2^32).
std::unique_ptr<Backend> make_cuda_backend(const CudaConfig& config);

// Device memory of the backend: factors, outputs and their copies, sums of terms, scratch, slots; without
// config.resident_bytes.
std::uint64_t cuda_backend_bytes(const CudaConfig& config);

// Largest private_bytes that the backend makes use of.
std::uint64_t cuda_backend_useful_private_bytes(const CudaConfig& config);

// Device memory of a chunk whose payloads, with what lies between them, total `payload_bytes`.
std::uint64_t cuda_chunk_bytes(std::uint64_t payload_bytes);

}  // namespace blco
