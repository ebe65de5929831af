// Frame loops in AVX-512, eight entries at a time. Requires: has_frame_avx512().
#pragma once

#include <cstddef>
#include <cstdint>

#include "blco/frame.hpp"

namespace blco {

bool has_frame_avx512();

// Packs the low `width` bits (1 to 64) of each of 256 entries. Writes exactly 32 * width bytes.
void pack_avx512(const std::uint64_t* entries, int width, std::byte* packed);
// Writes std::bit_width of each of 256 entries.
void bit_widths_avx512(const std::uint64_t* entries, std::uint8_t* widths);
// Same as decode_frame; reads no byte past the frame.
void decode_frame_avx512(const std::byte* frame, FrameShape shape, FrameCoding coding, std::uint64_t base,
                         std::uint64_t* values);
// Decodes a plain frame of signed integers below 2^53 and divides each by `power`, a power of ten up to 10^15; bit for
// bit the result of a division.
void decode_quotients_avx512(const std::byte* frame, FrameShape shape, std::uint64_t base, double power,
                             double* values);

}  // namespace blco
