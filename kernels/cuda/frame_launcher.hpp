// Launches kernels on frames, MTTKRP, TTMc and loss passes: chooses kernels once, and for each launch its conflict
// resolution, shape and arguments.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "blco/frame_lanes.hpp"
#include "kernels/cuda/conflict_resolution.hpp"
#include "kernels/cuda/device_chunk.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/loss_pass.hpp"
#include "kernels/cuda/mttkrp.hpp"
#include "kernels/cuda/ttmc.hpp"

namespace blco::cuda {

inline int index_tables(const TensorLayout& layout) { return tables_of(std::min(layout.line_bits(), 64)); }
inline int key_tables(const TensorLayout& layout) { return tables_of(std::max(layout.line_bits(), 64) - 64); }
inline std::size_t line_table_bytes(const TensorLayout& layout) {
  return table_bytes(index_tables(layout) + key_tables(layout));
}

// The device's tables of a line or key.
inline std::vector<std::uint64_t> make_tables(const ByteTables& of_bytes, int count) {
  std::vector<std::uint64_t> tables(static_cast<std::size_t>(count) * table_words);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const std::uint64_t line = i % table_words << i / table_words * table_bits;
    for (std::size_t byte = 0; byte < sizeof(line); ++byte) tables[i] |= of_bytes.byte[byte][line >> 8 * byte & 255];
  }
  return tables;
}

// About as long as a few warps take to decode their first tiles.
inline constexpr unsigned turn_nanoseconds = 1500;

// Sets all that neither pass nor chunks change, but for tables, words of held rows and fault.
template <class Factor>
void describe(const BackendConfig& config, const DeviceLimits& limits, FrameArguments<Factor>& arguments) {
  const TensorLayout& layout = config.layout;
  const auto ones = [](int bits) { return static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1); };
  arguments.order = layout.order();
  arguments.rank = config.rank;
  arguments.has_high_word = layout.has_high_word();
  arguments.index_tables = index_tables(layout);
  arguments.key_tables = key_tables(layout);
  std::uint64_t rows = 0;
  for (int mode = 0; mode < layout.order(); ++mode) {
    rows += config.rows_of(mode);
    const ModeLayout& bits = layout.mode(mode);
    const auto last = static_cast<std::uint32_t>(bits.length - 1);
    const bool all = config.holds_all(mode);
    arguments.held[mode].last = last;
    arguments.rows[mode] = {.field = ones(bits.low_bits),
                            .high_field = ones(bits.high_bits),
                            .last = all ? last : 0,
                            .shift = bits.shift,
                            .high_shift = bits.high_shift,
                            .low_bits = bits.low_bits};
  }
  if (rows * static_cast<std::uint64_t>(config.rank) * sizeof(Factor) > limits.l2_bytes) {
    arguments.turn_nanoseconds = turn_nanoseconds;
  }
}

// Adds one to max_chunks_of_launch chunks.
template <class Factor>
void add_chunks(std::span<const DeviceChunk* const> chunks, FrameArguments<Factor>& arguments) {
  for (const DeviceChunk* chunk : chunks) {
    arguments.chunks[arguments.chunk_count++] = {.index = chunk->payload[static_cast<std::size_t>(Column::index)],
                                                 .key = chunk->payload[static_cast<std::size_t>(Column::high_word)],
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

// A kernel in both resolutions, and the arguments that its launches share.
template <class Sum, class Arguments>
class FrameLauncher {
 public:
  using Kernel = void (*)(Arguments);

  // All launches of a pass share these arguments, but for chunks, stash and terms. Device memory: line_table_bytes at
  // `tables`.
  Arguments& shared_arguments() { return shared_; }

 protected:
  // `shared` has all that no pass changes. Sets once how much shared memory a block may ask for, and the part of a
  // multiprocessor's memory that is not L1 cache: as much as the blocks of a launch of usual size need.
  FrameLauncher(const DeviceLimits& limits, ConflictResolution conflict_resolution, const Arguments& shared,
                Kernel register_based, Kernel hierarchical, int blocks_per_multiprocessor = 0)
      : limits_(limits),
        conflict_resolution_(conflict_resolution),
        blocks_per_multiprocessor_(blocks_per_multiprocessor),
        shared_(shared),
        kernels_{register_based, hierarchical} {
    for (const bool stashed : {false, true}) {
      set(stashed, cudaFuncAttributeMaxDynamicSharedMemorySize, limits.shared_bytes_per_block);
    }
    LaunchRequest usual = request_for(shared_);
    usual.frames = default_chunk_nnz;
    set(false, cudaFuncAttributePreferredSharedMemoryCarveout,
        static_cast<std::uint64_t>(shared_memory_percent(limits, plan(usual))));
  }

  // Queues the kernel on one to max_chunks_of_launch chunks, by at most `max_warps` warps. `target`: the mode of the
  // only output; -1: several or none, and register-based. Returns the name, of the two, of what is launched.
  const char* queue(const std::array<const char*, 2>& names, std::span<const DeviceChunk* const> chunks, int target,
                    std::uint64_t max_warps, Arguments arguments, cudaStream_t stream) const {
    add_chunks(chunks, arguments);
    LaunchRequest request = request_for(arguments);
    if (target >= 0) {
      request.rows = rows_of_mode(chunks, target);
      request.conflict_resolution = conflict_resolution_;
    }
    const LaunchPlan planned = plan(request);
    const MttkrpShape& shape = planned.shape;
    const auto blocks = static_cast<unsigned>(std::min<std::uint64_t>(shape.blocks, max_warps / shape.warps));
    arguments.stash_first = planned.stash_first;
    arguments.stash_rows = planned.stash_rows;
    const bool stashed = planned.stash_rows > 0;
    launch(names[stashed], kernels_[stashed], {blocks, shape.warps * warp_lanes, shape.shared_bytes}, stream,
           arguments);
    return names[stashed];
  }

 private:
  // The frames in `arguments`, register-based.
  LaunchRequest request_for(const Arguments& arguments) const {
    LaunchRequest request;
    request.order = arguments.order;
    request.has_high_word = arguments.has_high_word;
    request.tables = arguments.index_tables + arguments.key_tables;
    request.frames = arguments.frames;
    request.bytes_of_row = static_cast<std::uint64_t>(arguments.rank) * sizeof(Sum);
    request.conflict_resolution = ConflictResolution::register_based;
    request.blocks_per_multiprocessor = blocks_per_multiprocessor_;
    return request;
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

  void set(bool stashed, cudaFuncAttribute attribute, std::uint64_t value) const {
    check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernels_[stashed]), attribute, static_cast<int>(value)),
          "cudaFuncSetAttribute");
  }

  DeviceLimits limits_;
  ConflictResolution conflict_resolution_;
  int blocks_per_multiprocessor_;  // at most; 0: as many as fit
  Arguments shared_;
  std::array<Kernel, 2> kernels_;  // register-based, hierarchical
};

template <class Sum, class Factor>
class MttkrpLauncher : public FrameLauncher<Sum, MttkrpArguments<Sum, Factor>> {
 public:
  MttkrpLauncher(const BackendConfig& config, const DeviceLimits& limits)
      : MttkrpLauncher::FrameLauncher(limits, config.gpu.conflict_resolution, arguments_of(config, limits),
                                      kernel_for(config, false), kernel_for(config, true),
                                      config.gpu.blocks_per_multiprocessor) {}

  // Queues the MTTKRP of one to max_chunks_of_launch chunks; returns the kernel's name.
  const char* launch(std::span<const DeviceChunk* const> chunks, cudaStream_t stream) {
    const MttkrpArguments<Sum, Factor>& arguments = this->shared_arguments();
    return this->queue({"mttkrp (register-based)", "mttkrp (hierarchical)"}, chunks, arguments.mode,
                       std::numeric_limits<std::uint64_t>::max(), arguments, stream);
  }

 private:
  static MttkrpKernel<Sum, Factor> kernel_for(const BackendConfig& config, bool stashed) {
    return mttkrp_kernel_for<Sum, Factor>(config.layout.order(), config.rank, stashed, config.gpu.variant);
  }
  static MttkrpArguments<Sum, Factor> arguments_of(const BackendConfig& config, const DeviceLimits& limits) {
    MttkrpArguments<Sum, Factor> arguments;
    describe(config, limits, arguments);
    return arguments;
  }
};

// Of one mode, register-based.
template <class Sum, class Factor>
class TtmcLauncher : public FrameLauncher<Sum, TtmcArguments<Sum, Factor>> {
 public:
  // `mttkrp`: the arguments of an MTTKRP of the mode.
  TtmcLauncher(const MttkrpArguments<Sum, Factor>& mttkrp, const BackendConfig& config, const DeviceLimits& limits)
      : TtmcLauncher(arguments_of(mttkrp, config), limits) {}

  // Queues one to max_chunks_of_launch chunks; returns the kernel's name.
  const char* launch(std::span<const DeviceChunk* const> chunks, cudaStream_t stream) {
    return this->queue({"ttmc", "ttmc"}, chunks, -1, std::numeric_limits<std::uint64_t>::max(),
                       this->shared_arguments(), stream);
  }

 private:
  TtmcLauncher(const TtmcArguments<Sum, Factor>& arguments, const DeviceLimits& limits)
      : TtmcLauncher::FrameLauncher(limits, ConflictResolution::register_based, arguments, kernel_for(arguments),
                                    kernel_for(arguments)) {}

  static TtmcArguments<Sum, Factor> arguments_of(const MttkrpArguments<Sum, Factor>& mttkrp,
                                                 const BackendConfig& config) {
    TtmcArguments<Sum, Factor> arguments{mttkrp};
    for (int mode = 0; mode < arguments.order; ++mode) arguments.columns[mode] = config.columns_of(mode);
    arguments.row_numbers = config.output_columns_of(arguments.mode);
    return arguments;
  }
  static TtmcKernel<Sum, Factor> kernel_for(const TtmcArguments<Sum, Factor>& arguments) {
    const int last = arguments.order - (arguments.mode + 1 == arguments.order ? 2 : 1);
    const int middle = last - (arguments.mode + 1 == last ? 2 : 1);
    return ttmc_kernel_for<Sum, Factor>(arguments.columns[middle], arguments.columns[last]);
  }
};

// Hierarchical only where there is one output.
template <class Sum, class Factor>
class LossLauncher : public FrameLauncher<Sum, LossArguments<Sum, Factor>> {
 public:
  // `frames`: the arguments that no pass changes.
  LossLauncher(const FrameArguments<Factor>& frames, const DeviceLimits& limits, ConflictResolution conflict_resolution)
      : LossLauncher::FrameLauncher(limits, conflict_resolution, {frames, {}},
                                    loss_kernel_for<Sum, Factor>(frames.order, frames.rank, false),
                                    loss_kernel_for<Sum, Factor>(frames.order, frames.rank, true)),
        max_warps_(term_slots(limits.multiprocessors)) {}

  // Queues one to max_chunks_of_launch chunks; returns the kernel's name. Adds to the term_slots at `terms`.
  const char* launch(std::span<const DeviceChunk* const> chunks, double* terms, cudaStream_t stream) {
    LossArguments<Sum, Factor> arguments = this->shared_arguments();
    arguments.terms = terms;
    const bool has_one = arguments.outputs != 0 && !has_several(arguments.outputs);
    return this->queue({"loss pass (register-based)", "loss pass (hierarchical)"}, chunks,
                       has_one ? first_mode(arguments.outputs) : -1, max_warps_, arguments, stream);
  }

 private:
  std::uint64_t max_warps_;
};

}  // namespace blco::cuda
