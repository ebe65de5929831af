// The CUDA backend: packed chunks cross the link on slots and are decoded inside the MTTKRP kernel.
//
// These functions exist without CUDA too: make_cuda_backend throws then.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/backend.hpp"
#include "kernels/device_kind.hpp"

namespace blco {

// config.private_bytes: device memory for copies of outputs beyond the first. Throws Error: not_built, cuda (naming the
// call that failed), out_of_memory, invalid_argument (a mode longer than 2^32).
std::unique_ptr<Backend> make_cuda_backend(const BackendConfig& config, const DeviceLimits& limits);

// Device memory of the backend: factors, outputs and their copies, sums of terms, scratch, slots, and what cudaMalloc
// loses by each buffer; without resident_bytes.
Account cuda_backend_memory(const BackendConfig& config, const DeviceLimits& limits);

// Largest private_bytes that the backend makes use of.
std::uint64_t cuda_backend_useful_private_bytes(const BackendConfig& config, const DeviceLimits& limits);

// Device memory of a chunk whose payloads, with what lies between them, total `payload_bytes`.
std::uint64_t cuda_chunk_bytes(std::uint64_t payload_bytes);

}  // namespace blco
