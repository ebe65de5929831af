// What one launch of the MTTKRP kernel is given: a chunk in device memory, the factors, and where rows are gathered.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "blco/host_device.hpp"
#include "blco/layout.hpp"
#include "blco/payload.hpp"

namespace blco::cuda {

// Where a coordinate lies in a line: field `field` at `shift` of the BLCO index, and above its `low_bits` the bits of
// the key that `key_mask` names.
struct CoordinateBits {
  std::uint64_t field = 0;
  std::uint64_t key_mask = 0;
  std::uint64_t length = 0;
  int shift = 0;
  int low_bits = 0;
};

// First fault of a pass, in device memory: 0, or (chunk + 1) << 8 | mode of a coordinate outside its mode.
using FaultRecord = unsigned long long;

// Trivially copyable; crosses to the device by value. Payloads, tables, factors, output and fault lie in device memory.
template <class Real>
struct MttkrpArguments {
  PayloadView index;
  PayloadView key;    // no bytes: lines of up to 64 bits
  PayloadView value;  // no bytes: all values are 1
  std::uint64_t chunk = 0;
  std::uint32_t nnz = 0;

  int order = 0;
  int mode = 0;
  int rank = 0;
  CoordinateBits coordinates[max_order] = {};
  const Real* factors[max_order] = {};         // row-major I_n x rank
  const std::uint64_t* byte_tables = nullptr;  // BlcoByteTables
  int index_bytes = 0;                         // of a line's low 64 bits, those that are ever set

  Real* output = nullptr;         // row-major I_mode x rank
  Real* more_copies = nullptr;    // copies 1, 2, ... of the output
  std::uint64_t copy_stride = 0;  // numbers from one of them to the next
  int copy_count = 1;             // the output included
  std::uint64_t stash_first = 0;  // rows [stash_first, stash_first + stash_rows) are gathered in shared memory
  std::uint32_t stash_rows = 0;   // 0: register-based resolution
  FaultRecord* fault = nullptr;
};

struct MttkrpShape {
  unsigned blocks = 1;
  unsigned warps = 1;  // of a block
  std::size_t shared_bytes = 0;
};

inline constexpr unsigned max_mttkrp_warps = 8;

// Dynamic shared memory of a block, in this order: byte tables, a tile per warp, the stash.
BLCO_HOST_DEVICE constexpr std::size_t tile_bytes(int order, bool has_key) {
  const std::size_t words = has_key ? 2 * frame_entries : frame_entries;
  const std::size_t rows = static_cast<std::size_t>(order) * frame_entries;
  return words * sizeof(std::uint64_t) + rows * sizeof(std::uint32_t) + frame_entries / 8;
}
BLCO_HOST_DEVICE constexpr std::size_t table_bytes(int index_bytes) {
  return static_cast<std::size_t>(index_bytes) * 256 * sizeof(std::uint64_t);
}

// Queues output[i_mode] += value * prod_{m != mode} A_m[i_m] over the chunk. Throws Error{cuda}.
template <class Real>
void launch_mttkrp(const MttkrpArguments<Real>& arguments, const MttkrpShape& shape, cudaStream_t stream);

}  // namespace blco::cuda
