// The arguments of one MTTKRP launch: a chunk in device memory, the factors, and the rows collected in the stash.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "blco/host_device.hpp"
#include "blco/layout.hpp"
#include "blco/payload.hpp"

namespace blco::cuda {

// Position of a coordinate in a line: bits `field` at `shift` of the BLCO index, then, from bit `low_bits` of the
// coordinate on, the bits of the key under `key_mask`.
struct CoordinateBits {
  std::uint64_t field = 0;
  std::uint64_t key_mask = 0;
  std::uint64_t length = 0;
  int shift = 0;
  int low_bits = 0;
};

// First fault of a pass, in device memory: 0, or (chunk + 1) << 8 | mode for a coordinate outside its mode.
using FaultRecord = unsigned long long;

// Trivially copyable; passed to the device by value. Payloads, tables, factors, output and fault are in device memory.
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
  int index_bytes = 0;                         // number of low bytes of a line that can be nonzero

  Real* output = nullptr;         // row-major I_mode x rank
  Real* more_copies = nullptr;    // copies 1, 2, ... of the output
  std::uint64_t copy_stride = 0;  // numbers from one copy to the next
  int copy_count = 1;             // includes the output
  std::uint64_t stash_first = 0;  // rows [stash_first, stash_first + stash_rows) are collected in shared memory
  std::uint32_t stash_rows = 0;   // 0: register-based resolution
  FaultRecord* fault = nullptr;
};

struct MttkrpShape {
  unsigned blocks = 1;
  unsigned warps = 1;  // per block
  std::size_t shared_bytes = 0;
};

inline constexpr unsigned max_mttkrp_warps = 8;  // of a block
// Of a multiprocessor: the kernels' launch bounds keep 64 Ki registers enough for so many.
inline constexpr unsigned max_resident_mttkrp_warps = 24;

// Dynamic shared memory of a block, in order: byte tables, one tile per warp, the stash.
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
