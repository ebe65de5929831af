// How dense work is cut, and the device memory that it and loss passes need: plain arithmetic, so that plans work
// without CUDA.
#pragma once

#include <algorithm>
#include <cstdint>

namespace blco::cuda {

// Sizes for factors of `rank` columns and up to `max_rows` rows; `duals`: also for ADMM. Offsets are in f64 numbers and
// multiples of 32, so that every part of the scratch is aligned to 256 bytes.
struct DenseSizes {
  // Few enough numbers that a slab stays in the last-level cache from one call to the next, and enough that a call
  // takes longer than its launch.
  static constexpr std::uint64_t usual_slab = std::uint64_t{1} << 21;
  // A Gram matrix alone is too small to fill a device: parts of a slab are summed apart, about one per multiprocessor.
  static constexpr std::uint64_t max_parts = 128;
  static constexpr std::uint64_t max_part_numbers = std::uint64_t{1} << 20;
  static constexpr std::uint64_t min_part_rows = 64;
  // cuBLAS needs 16 KiB, and recommends 32 MiB on large devices, which small factors gain nothing from.
  static constexpr std::uint64_t min_workspace = std::uint64_t{1} << 13;
  static constexpr std::uint64_t max_workspace = std::uint64_t{1} << 22;

  constexpr DenseSizes(std::uint64_t max_rows, int rank, std::uint64_t output_number_bytes,
                       std::uint64_t factor_number_bytes, bool duals = false, std::uint64_t slab_numbers = usual_slab) {
    columns = static_cast<std::uint64_t>(rank);
    max_rows = std::max<std::uint64_t>(max_rows, 1);
    slab_rows = std::min(max_rows, slab_numbers / columns);
    parts = std::clamp<std::uint64_t>(max_part_numbers / (columns * columns), 1, max_parts);
    parts = std::clamp<std::uint64_t>(slab_rows / min_part_rows, 1, parts);
    const auto take = [this](std::uint64_t numbers) {
      const std::uint64_t first = bytes / sizeof(double);
      bytes += (numbers + 31) / 32 * 32 * sizeof(double);
      return first;
    };
    take(std::clamp(max_rows * columns / 4, min_workspace, max_workspace));
    workspace_bytes = bytes;
    given = take(output_number_bytes < sizeof(double) ? slab_rows * columns : 0);
    made = take(factor_number_bytes < sizeof(double) ? slab_rows * columns : 0);
    right = take(duals ? slab_rows * columns : 0);
    solution = take(duals ? slab_rows * columns : 0);
    dual = take(duals && factor_number_bytes < sizeof(double) ? slab_rows * columns : 0);
    system = take(columns * columns);
    weights = take(columns);
    grams = take(parts * columns * columns);
    inner = take((max_rows + slab_rows - 1) / slab_rows);
  }

  std::uint64_t columns = 0;  // R
  std::uint64_t slab_rows = 0;
  std::uint64_t parts = 0;
  std::uint64_t workspace_bytes = 0;  // the first of the scratch
  std::uint64_t given = 0;            // a slab of the output in f64, if that is f32
  std::uint64_t made = 0;             // a slab of the new factor in f64, if that is f32
  std::uint64_t right = 0;            // ADMM: right sides of its least squares, a slab
  std::uint64_t solution = 0;         // ADMM: their solutions
  std::uint64_t dual = 0;             // ADMM: a slab of the dual in f64, if that is f32
  std::uint64_t system = 0;           // R x R, then R divisors
  std::uint64_t weights = 0;          // R
  std::uint64_t grams = 0;            // R x R for each part
  std::uint64_t inner = 0;            // an inner product for each slab
  std::uint64_t bytes = 0;            // of all scratch
};

// Where the warps of a loss pass add up terms: each of a launch has a number of its own, and so has each stream, whose
// launches follow each other.

// Two kernels on resident chunks at a time: the second fills multiprocessors that the first leaves idle at its end.
inline constexpr int resident_streams = 2;

// Warps of a multiprocessor: the kernels' launch bounds keep 64 Ki registers enough for so many.
inline constexpr unsigned max_resident_mttkrp_warps = 24;

// Numbers of a stream: no launch has more warps.
constexpr std::uint64_t term_slots(int multiprocessors) {
  return std::uint64_t{max_resident_mttkrp_warps} * static_cast<std::uint64_t>(multiprocessors);
}

// Of all streams.
constexpr std::uint64_t term_bytes(int lanes, int multiprocessors) {
  return static_cast<std::uint64_t>(lanes + resident_streams) * term_slots(multiprocessors) * sizeof(double);
}

}  // namespace blco::cuda
