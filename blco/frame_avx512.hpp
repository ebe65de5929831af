// Loops over a frame for AVX-512, eight entries at a time; for callers that have asked has_frame_avx512().
#pragma once

#include <cstddef>
#include <cstdint>

#include "blco/frame.hpp"

namespace blco {

bool has_frame_avx512();

// The low `width` bits, 1 to 64, of each of 256 entries, packed: 32 * width bytes, and no byte past them is written.
void pack_avx512(const std::uint64_t* entries, int width, std::byte* packed);
// std::bit_width of 256 entries.
void bit_widths_avx512(const std::uint64_t* entries, std::uint8_t* widths);
// As decode_frame does; reads no byte past the frame.
void decode_frame_avx512(const std::byte* frame, FrameShape shape, FrameCoding coding, std::uint64_t base,
                         std::uint64_t* values);
// A plain frame of signed integers below 2^53, each divided by `power`, a power of ten up to 10^15: the same bits as a
// division gives.
void decode_quotients_avx512(const std::byte* frame, FrameShape shape, std::uint64_t base, double power,
                             double* values);

}  // namespace blco
