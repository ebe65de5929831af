// The CPU backend: parallel over frames, vectorised along the rank.
#pragma once

#include <cstdint>
#include <memory>

#include "blco/executor.hpp"
#include "kernels/backend.hpp"

namespace blco {

// `executor` must outlive the backend. Throws Error{invalid_argument} for a mode longer than 2^32.
std::unique_ptr<Backend> make_host_backend(const BackendConfig& config, Executor& executor);

// Bytes that the backend takes for itself: factors, output, Grams, scratch per thread, and
// config.private_bytes; not config.sorted_bytes.
std::uint64_t host_backend_bytes(const BackendConfig& config, int threads);

// Bytes of private output copies that can be of use: more is not taken.
std::uint64_t host_backend_useful_private_bytes(const BackendConfig& config, int threads);

// Whether rows of a chunk may be left to one thread each, which takes memory of its own: not where every thread has a
// copy of the whole output.
bool host_backend_needs_exchange(const BackendConfig& config, int threads);

// Bytes that keep(chunk, ResidentForm::decoded) takes.
std::uint64_t host_decoded_bytes(const TensorLayout& layout, std::uint64_t nnz);

}  // namespace blco
