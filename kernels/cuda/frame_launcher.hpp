// What launches of kernels on frames share: arguments that follow from the layout, the chunks of a launch, and a kernel
// in both resolutions.
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

// Sets all that neither pass nor chunks change, but for tables and fault.
template <class Factor>
void describe(const TensorLayout& layout, int rank, const DeviceLimits& limits, FrameArguments<Factor>& arguments) {
  const auto ones = [](int bits) { return static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1); };
  arguments.order = layout.order();
  arguments.rank = rank;
  arguments.has_key = layout.has_key();
  arguments.index_bytes = index_bytes(layout);
  arguments.key_bytes = key_bytes(layout);
  for (int mode = 0; mode < layout.order(); ++mode) {
    const ModeLayout& bits = layout.mode(mode);
    arguments.rows[mode] = {.field = ones(bits.low_bits),
                            .key_field = ones(bits.key_bits),
                            .last = static_cast<std::uint32_t>(bits.length - 1),
                            .shift = bits.shift,
                            .key_shift = bits.key_shift,
                            .low_bits = bits.low_bits};
  }
  const std::uint64_t rows = std::accumulate(layout.shape().begin(), layout.shape().end(), std::uint64_t{0});
  if (rows * static_cast<std::uint64_t>(rank) * sizeof(Factor) > limits.l2_bytes) {
    arguments.turn_nanoseconds = turn_nanoseconds;
  }
}

// Adds one to max_chunks_of_launch chunks.
template <class Factor>
void add_chunks(std::span<const DeviceChunk* const> chunks, FrameArguments<Factor>& arguments) {
  for (const DeviceChunk* chunk : chunks) {
    arguments.chunks[arguments.chunk_count++] = {.index = chunk->payload[static_cast<std::size_t>(Column::index)],
                                                 .key = chunk->payload[static_cast<std::size_t>(Column::key)],
                                                 .value = chunk->payload[static_cast<std::size_t>(Column::value)],
                                                 .chunk = chunk->number,
                                                 .nnz = static_cast<std::uint32_t>(chunk->nnz),
                                                 .first_frame = arguments.frames};
    arguments.frames += static_cast<std::uint32_t>((chunk->nnz + frame_entries - 1) / frame_entries);
  }
}

// Rows of a mode in any of the chunks.
inline RowRange rows_of_mode(std::span<const DeviceChunk* const> chunks, int mode) {
  const auto at = static_cast<std::size_t>(mode);
  RowRange rows = chunks.front()->rows[at];
  for (const DeviceChunk* chunk : chunks) {
    rows = {std::min(rows.first, chunk->rows[at].first), std::max(rows.last, chunk->rows[at].last)};
  }
  return rows;
}

// A launch of the frames in `arguments`, register-based.
template <class Sum, class Factor>
LaunchRequest launch_request(const FrameArguments<Factor>& arguments) {
  LaunchRequest request;
  request.order = arguments.order;
  request.has_key = arguments.has_key;
  request.line_bytes = arguments.index_bytes + arguments.key_bytes;
  request.frames = arguments.frames;
  request.bytes_of_row = static_cast<std::uint64_t>(arguments.rank) * sizeof(Sum);
  request.resolution = Resolution::register_based;
  return request;
}

// A kernel in both resolutions.
template <class Kernel>
class KernelPair {
 public:
  // `usual`: the launch that is made most. Sets once how much shared memory a block may ask for, and the part of a
  // multiprocessor's memory that is not L1 cache: as much as the blocks of such a launch need.
  KernelPair(const DeviceLimits& limits, Kernel register_based, Kernel hierarchical, const LaunchRequest& usual)
      : limits_(limits), kernels_{register_based, hierarchical} {
    for (const bool stashed : {false, true}) {
      set(stashed, cudaFuncAttributeMaxDynamicSharedMemorySize, limits.shared_bytes_per_block);
    }
    constexpr std::uint64_t reserved_bytes_per_block = 1 << 10;  // the runtime's
    const LaunchPlan planned = plan(usual);
    const std::uint64_t needed =
        planned.blocks_per_multiprocessor * (planned.shape.shared_bytes + reserved_bytes_per_block);
    const std::uint64_t all = limits.shared_bytes_per_multiprocessor;
    set(false, cudaFuncAttributePreferredSharedMemoryCarveout,
        std::min<std::uint64_t>((100 * needed + all - 1) / all, 100));
  }

  LaunchPlan plan(const LaunchRequest& request) const {
    return plan_launch(limits_, request, [this](bool stashed, unsigned warps, std::size_t shared_bytes) {
      int blocks = 0;
      check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reinterpret_cast<const void*>(kernels_[stashed]),
                                                          static_cast<int>(warps) * warp_lanes, shared_bytes),
            "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
      return blocks;
    });
  }

  // Queues the kernel of the plan's resolution. `name` is for messages.
  template <class Arguments>
  void launch(const char* name, const LaunchPlan& planned, const Arguments& arguments, cudaStream_t stream) const {
    const MttkrpShape& shape = planned.shape;
    cuda::launch(name, kernels_[planned.stash_rows > 0], {shape.blocks, shape.warps * warp_lanes, shape.shared_bytes},
                 stream, arguments);
  }

 private:
  void set(bool stashed, cudaFuncAttribute attribute, std::uint64_t value) const {
    check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernels_[stashed]), attribute, static_cast<int>(value)),
          "cudaFuncSetAttribute");
  }

  DeviceLimits limits_;
  std::array<Kernel, 2> kernels_;  // register-based, hierarchical
};

}  // namespace blco::cuda
