// The arguments of one launch on frames: chunks in device memory, the factors, and what MTTKRP adds to.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "blco/host_device.hpp"
#include "blco/layout.hpp"
#include "blco/payload.hpp"
#include "kernels/cuda/device_sizes.hpp"
#include "kernels/gpu_kernels.hpp"
#include "kernels/row_index.hpp"

namespace blco::cuda {

// Position of a mode's row: `field` at `shift` of the BLCO index; above its low_bits, `high_field` at high_shift of the
// key's fields.
struct RowBits {
  std::uint32_t field = 0;
  std::uint32_t high_field = 0;  // 0: all bits are in the index
  std::uint32_t last = 0;        // the largest legal row; 0 if HeldRows decides
  int shift = 0;
  int high_shift = 0;
  int low_bits = 0;
};

// Of a mode with BackendConfig::held, in device memory: rows become places.
struct HeldRows {
  const RowIndex::Word* words = nullptr;  // null: the mode has all rows
  std::uint32_t last = 0;                 // the largest legal row
};

// First fault of a pass, in device memory: 0, or (chunk + 1) << 8 | mode for a coordinate outside its mode, or not
// held.
using FaultRecord = unsigned long long;

// The part of a launch that one chunk makes.
struct ChunkPart {
  PayloadView index;
  PayloadView key;    // no bytes: lines of up to 64 bits
  PayloadView value;  // no bytes: all values are 1, over the divisor
  std::uint64_t chunk = 0;
  std::uint32_t nnz = 0;
  std::uint32_t first_frame = 0;  // counted from the first frame of the launch
};
inline constexpr int max_chunks_of_launch = 16;

// What kernels on frames share. Trivially copyable, as all arguments are; passed to the device by value. Payloads,
// tables, factors, outputs and fault are in device memory. Factors hold numbers of one type; products, sums and outputs
// are of another, at least as exact.
template <class Factor>
struct FrameArguments {
  ChunkPart chunks[max_chunks_of_launch] = {};
  int chunk_count = 0;
  std::uint32_t frames = 0;  // of all chunks

  int order = 0;
  int rank = 0;
  bool has_high_word = false;
  RowBits rows[max_order] = {};
  HeldRows held[max_order] = {};
  const Factor* factors[max_order] = {};  // row-major I_n x rank
  const std::uint64_t* tables = nullptr;  // of the index, then of the key
  int index_tables = 0;                   // as many as there are bits for
  int key_tables = 0;
  unsigned turn_nanoseconds = 0;  // warps of a block start in turns so far apart
  FaultRecord* fault = nullptr;
};

// The output of a mode, and its copies.
template <class Sum>
struct OutputCopies {
  Sum* output = nullptr;          // row-major I_mode x rank
  Sum* more_copies = nullptr;     // copies 1, 2, ... of the output
  std::uint64_t copy_stride = 0;  // numbers from one copy to the next
  int copy_count = 1;             // includes the output
};

// Rows [stash_first, stash_first + stash_rows) of an output are collected in shared memory; 0: register-based.
struct StashedRows {
  std::uint64_t stash_first = 0;
  std::uint32_t stash_rows = 0;
};

template <class Sum, class Factor>
struct MttkrpArguments : FrameArguments<Factor>, OutputCopies<Sum>, StashedRows {
  int mode = 0;
};

struct MttkrpShape {
  unsigned blocks = 1;
  unsigned warps = 1;  // per block
  std::size_t shared_bytes = 0;
};

inline constexpr unsigned max_mttkrp_warps = 8;  // of a block

// An entry of a tile: its value in 8 bytes, then its rows in all modes but the target, padded to 8 bytes.
BLCO_HOST_DEVICE constexpr int tile_entry_bytes(int order) { return 8 + order / 2 * 8; }
// Entries of row 0 between and behind the shares of groups of lanes: a group reads ahead of its share.
inline constexpr int tile_gaps = 8;

// A table of a line, or of its key, says where so many of its bits go. Tables of whole bytes would take three times the
// memory, and leave the L1 cache less beside three blocks.
inline constexpr int table_bits = 6;
inline constexpr int table_words = 1 << table_bits;
BLCO_HOST_DEVICE constexpr int tables_of(int bits) { return (bits + table_bits - 1) / table_bits; }

// Dynamic shared memory of a block, in order: tables of index and key, one tile per warp, the stash. A tile:
// entries, target rows, flags of segment ends, fields of keys.
BLCO_HOST_DEVICE constexpr std::size_t tile_bytes(int order, bool has_high_word) {
  const std::size_t entries = static_cast<std::size_t>(tile_entry_bytes(order)) * (frame_entries + tile_gaps);
  const std::size_t bytes = entries + (has_high_word ? frame_entries * sizeof(std::uint64_t) : 0) +
                            frame_entries * sizeof(std::uint32_t) + frame_entries / 8;
  return (bytes + 15) / 16 * 16;
}
BLCO_HOST_DEVICE constexpr std::size_t table_bytes(int tables) {
  return static_cast<std::size_t>(tables) * table_words * sizeof(std::uint64_t);
}

// Kernels of one choice of order, rank and conflict resolution; the caller launches them.
template <class Sum, class Factor>
using MttkrpKernel = void (*)(MttkrpArguments<Sum, Factor>);

// output[i_mode] += value * prod_{m != mode} A_m[i_m] over the chunks. `stashed`: hierarchical conflict_resolution.
template <class Sum, class Factor>
MttkrpKernel<Sum, Factor> mttkrp_kernel_for(int order, int rank, bool stashed, KernelVariant variant);

}  // namespace blco::cuda
