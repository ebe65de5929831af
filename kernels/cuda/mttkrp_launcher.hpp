// Launches MTTKRP: chooses kernels once, and for each launch its resolution, shape and arguments.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>

#include "blco/frame_lanes.hpp"
#include "kernels/cuda/device_chunk.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/mttkrp.hpp"
#include "kernels/cuda/resolution.hpp"

namespace blco::cuda {

// Low bytes of a line, and of its key, that can be nonzero: each has a table.
inline int index_bytes(const TensorLayout& layout) { return (std::min(layout.line_bits(), 64) + 7) / 8; }
inline int key_bytes(const TensorLayout& layout) { return (std::max(layout.line_bits(), 64) - 64 + 7) / 8; }
inline std::size_t line_table_bytes(const TensorLayout& layout) {
  return table_bytes(index_bytes(layout) + key_bytes(layout));
}

// About as long as a few warps take to decode their first tiles.
inline constexpr unsigned turn_nanoseconds = 1500;

template <class Sum, class Factor>
class MttkrpLauncher {
 public:
  MttkrpLauncher(const TensorLayout& layout, int rank, const DeviceLimits& limits, Resolution resolution,
                 KernelVariant variant);

  // All launches of a pass share these arguments, but for chunks and stash. Device memory: line_table_bytes at
  // `tables`.
  MttkrpArguments<Sum, Factor>& shared_arguments() { return shared_; }

  // Queues the MTTKRP of one to max_chunks_of_launch chunks; returns the kernel's name.
  const char* launch(std::span<const DeviceChunk* const> chunks, cudaStream_t stream) const;

 private:
  LaunchPlan plan(std::uint64_t frames, const RowRange& rows, Resolution resolution) const;
  void set(bool stashed, cudaFuncAttribute attribute, std::uint64_t value) const {
    check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernels_[stashed]), attribute, static_cast<int>(value)),
          "cudaFuncSetAttribute");
  }

  DeviceLimits limits_;
  Resolution resolution_;
  std::array<MttkrpKernel<Sum, Factor>, 2> kernels_;  // register-based, hierarchical
  MttkrpArguments<Sum, Factor> shared_;
};

template <class Sum, class Factor>
MttkrpLauncher<Sum, Factor>::MttkrpLauncher(const TensorLayout& layout, int rank, const DeviceLimits& limits,
                                            Resolution resolution, KernelVariant variant)
    : limits_(limits),
      resolution_(resolution),
      kernels_{mttkrp_kernel_for<Sum, Factor>(layout.order(), rank, false, variant),
               mttkrp_kernel_for<Sum, Factor>(layout.order(), rank, true, variant)} {
  const auto ones = [](int bits) { return static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1); };
  shared_.order = layout.order();
  shared_.rank = rank;
  shared_.has_key = layout.has_key();
  shared_.index_bytes = index_bytes(layout);
  shared_.key_bytes = key_bytes(layout);
  for (int mode = 0; mode < layout.order(); ++mode) {
    const ModeLayout& bits = layout.mode(mode);
    shared_.rows[mode] = {.field = ones(bits.low_bits),
                          .key_field = ones(bits.key_bits),
                          .last = static_cast<std::uint32_t>(bits.length - 1),
                          .shift = bits.shift,
                          .key_shift = bits.key_shift,
                          .low_bits = bits.low_bits};
  }
  const std::uint64_t rows = std::accumulate(layout.shape().begin(), layout.shape().end(), std::uint64_t{0});
  if (rows * static_cast<std::uint64_t>(rank) * sizeof(Factor) > limits.l2_bytes) {
    shared_.turn_nanoseconds = turn_nanoseconds;
  }
  // Set once: the most shared memory that a block may ask for, and the part of a multiprocessor's memory that is not L1
  // cache: as much as the blocks of the register-based kernel need, which runs most.
  for (const bool stashed : {false, true}) {
    set(stashed, cudaFuncAttributeMaxDynamicSharedMemorySize, limits.shared_bytes_per_block);
  }
  constexpr std::uint64_t reserved_bytes_per_block = 1 << 10;  // the runtime's
  const LaunchPlan usual = plan(default_chunk_nnz, {}, Resolution::register_based);
  const std::uint64_t needed = usual.blocks_per_multiprocessor * (usual.shape.shared_bytes + reserved_bytes_per_block);
  const std::uint64_t all = limits.shared_bytes_per_multiprocessor;
  set(false, cudaFuncAttributePreferredSharedMemoryCarveout,
      std::min<std::uint64_t>((100 * needed + all - 1) / all, 100));
}

template <class Sum, class Factor>
LaunchPlan MttkrpLauncher<Sum, Factor>::plan(std::uint64_t frames, const RowRange& rows, Resolution resolution) const {
  LaunchRequest request;
  request.order = shared_.order;
  request.has_key = shared_.has_key;
  request.line_bytes = shared_.index_bytes + shared_.key_bytes;
  request.frames = frames;
  request.rows = rows;
  request.bytes_of_row = static_cast<std::uint64_t>(shared_.rank) * sizeof(Sum);
  request.resolution = resolution;
  return plan_launch(limits_, request, [this](bool stashed, unsigned warps, std::size_t shared_bytes) {
    int blocks = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reinterpret_cast<const void*>(kernels_[stashed]),
                                                        static_cast<int>(warps) * warp_lanes, shared_bytes),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    return blocks;
  });
}

template <class Sum, class Factor>
const char* MttkrpLauncher<Sum, Factor>::launch(std::span<const DeviceChunk* const> chunks, cudaStream_t stream) const {
  const auto mode = static_cast<std::size_t>(shared_.mode);
  MttkrpArguments<Sum, Factor> arguments = shared_;
  RowRange rows = chunks.front()->rows[mode];
  for (const DeviceChunk* chunk : chunks) {
    rows = {std::min(rows.first, chunk->rows[mode].first), std::max(rows.last, chunk->rows[mode].last)};
    arguments.chunks[arguments.chunk_count++] = {.index = chunk->payload[static_cast<std::size_t>(Column::index)],
                                                 .key = chunk->payload[static_cast<std::size_t>(Column::key)],
                                                 .value = chunk->payload[static_cast<std::size_t>(Column::value)],
                                                 .chunk = chunk->number,
                                                 .nnz = static_cast<std::uint32_t>(chunk->nnz),
                                                 .first_frame = arguments.frames};
    arguments.frames += static_cast<std::uint32_t>((chunk->nnz + frame_entries - 1) / frame_entries);
  }
  const LaunchPlan chosen = plan(arguments.frames, rows, resolution_);
  arguments.stash_first = chosen.stash_first;
  arguments.stash_rows = chosen.stash_rows;

  const bool stashed = chosen.stash_rows > 0;
  const char* name = stashed ? "mttkrp (hierarchical)" : "mttkrp (register-based)";
  const MttkrpShape& shape = chosen.shape;
  cuda::launch(name, kernels_[stashed], {shape.blocks, shape.warps * warp_lanes, shape.shared_bytes}, stream,
               arguments);
  return name;
}

}  // namespace blco::cuda
