// The CPU backend: parallel over frames, vectorised along the rank.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "blco/executor.hpp"
#include "kernels/backend.hpp"

namespace blco {

// `executor` must outlive the backend. Throws Error{invalid_argument} for a rank outside 1 to max_rank, or
// a mode longer than 2^32.
std::unique_ptr<Backend> make_host_backend(const BackendConfig& config, Executor& executor);

// Memory of the backend: factors, outputs, Grams, scratch per thread, weights of loss passes if config says that there
// are any, and config.private_bytes; without config.arranged_bytes.
std::uint64_t host_backend_bytes(const BackendConfig& config, int threads);

// Largest private_bytes that the backend makes use of.
std::uint64_t host_backend_useful_private_bytes(const BackendConfig& config, int threads);

// True if some chunk's rows may have to be owned by one thread each, which takes extra memory; false if every thread
// has a copy of the whole output.
bool host_backend_needs_exchange(const BackendConfig& config, int threads);

// Largest config.arranged_bytes of use for decoded chunks with `nnzs` nonzeros.
std::uint64_t host_arranged_bytes(const BackendConfig& config, std::span<const std::uint64_t> nnzs, int threads);

// Memory that keep(chunk, ResidentForm::decoded) takes.
std::uint64_t host_decoded_bytes(const TensorLayout& layout, std::uint64_t nnz);

}  // namespace blco
