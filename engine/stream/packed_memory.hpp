// Host memory for the chunks that stay packed between passes, in a few large buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/passes.hpp"

namespace blco {

// Pinning takes a call of the driver, which maps the memory for the device; a hundred gigabytes are 400 calls.
inline constexpr std::uint64_t packed_slab_bytes = std::uint64_t{256} << 20;

class PackedMemory {
 public:
  using Allocate = std::function<std::unique_ptr<HostBuffer>(std::uint64_t bytes)>;

  // Takes memory for the chunks with bytes[chunk] > 0. Where `give` does not give enough, as many chunks as fit
  // get memory, the same share of every stretch of the pass, and shortage() says why. Throws nothing but bad_alloc.
  PackedMemory(const Allocate& give, std::span<const std::uint64_t> bytes,
               std::uint64_t slab_bytes = packed_slab_bytes);

  // 64-byte aligned; empty: the chunk has no memory.
  std::span<std::byte> of(std::uint64_t chunk) const { return places_[chunk]; }
  // The message of `give`; empty if all chunks have memory.
  const std::string& shortage() const { return shortage_; }

 private:
  std::uint64_t allocate(const Allocate& give, std::span<const std::uint64_t> bytes, std::uint64_t slab_bytes);
  void place(std::span<const std::uint64_t> bytes, double share);

  std::vector<std::unique_ptr<HostBuffer>> slabs_;
  std::vector<std::span<std::byte>> places_;  // per chunk
  std::string shortage_;
};

}  // namespace blco
