// Factors too large for a device: they stay in host memory, and a slab of their columns at a time goes to the device.
#pragma once

#include <cstdint>
#include <memory>

#include "blco/executor.hpp"
#include "kernels/backend.hpp"
#include "kernels/device_kind.hpp"

namespace blco {

// What the device has of `config`: up to `columns` of its columns at a time. Only MTTKRPs can be made so, for no
// column of theirs needs another: no loss passes, vectors or Kronecker products.
BackendConfig slab_config(const BackendConfig& config, int columns);

// Memory of the backend on the host, without that of the device's backend for slab_config().
std::uint64_t slab_backend_bytes(const BackendConfig& config, int threads);

// The CPU updates rows; `device` makes MTTKRPs, a slab per time that the chunks are submitted. `executor` must outlive
// the backend. Throws Error as DeviceKind::make does.
std::unique_ptr<Backend> make_slab_backend(const BackendConfig& config, int columns, const DeviceKind& device,
                                           Executor& executor);

}  // namespace blco
