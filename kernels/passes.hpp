// Passes of a device over chunks, which it may keep between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "blco/chunk.hpp"
#include "kernels/pass_request.hpp"

namespace blco {

// Memory for packed chunks, 64-byte aligned; pinned if the device needs that.
class HostBuffer {
 public:
  virtual ~HostBuffer() = default;
  virtual std::span<std::byte> bytes() = 0;
};

// Where a chunk is between passes.
enum class Tier : std::uint8_t {
  streamed,  // not with the backend: submitted anew in every pass
  packed,    // the payloads as they are, in a buffer of host memory that the caller keeps alive
  decoded,   // the backend's own copy in host memory, ready to use
  device,    // the backend's own copy of the payloads in device memory; same as decoded without a device
};

using ResidentId = std::size_t;

// Each pass fills outputs from the factors. Throws Error{corrupt} for a coordinate outside its mode.
class Passes {
 public:
  virtual ~Passes() = default;

  virtual std::string name() const = 0;
  // How many times a pass submits the chunks, each for a slab of the output's columns.
  virtual int slabs() const { return 1; }

  virtual std::unique_ptr<HostBuffer> allocate_host(std::uint64_t bytes) = 0;

  // Starts a pass: sums over all submitted chunks. Submit each chunk once, in the desired order. More than one output
  // requires BackendConfig::all_outputs. Run it once for each of slabs(), in ascending order; then the outputs are
  // complete.
  virtual void begin_pass(const PassRequest& request) = 0;
  // The payloads lie in staging buffer `slot`, which must not change until wait_slot(slot) returns. wait_slot is
  // thread-safe, so that whoever refills the buffer may call it.
  virtual void submit(int slot, const ChunkView& chunk) = 0;
  virtual void wait_slot(int slot) = 0;
  // Keeps a chunk for all later passes, in a tier other than streamed; legal at any time. Unless that is packed, the
  // payloads lie in staging buffer `slot`, which must not change until wait_slot(slot) returns.
  virtual ResidentId keep(int slot, const ChunkView& chunk, Tier tier) = 0;
  virtual void submit_resident(ResidentId chunk) = 0;
  // Returns when the outputs are complete. Also ends a failed pass, and leaves nothing in flight.
  virtual void finish_pass() = 0;
  // The sum of the terms of the last finished loss pass, scaled. Its order depends on the order of chunks alone.
  virtual double sum_of_terms() const = 0;
};

}  // namespace blco
