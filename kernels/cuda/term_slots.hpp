// Where the warps of a loss pass add up terms: each of a launch has a number of its own, and so has each stream, whose
// launches follow each other. Plain arithmetic, so that plans work without CUDA.
#pragma once

#include <cstdint>

namespace blco::cuda {

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
