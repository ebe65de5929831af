// Packs and decodes a frame: on any processor, in AVX2 and in AVX-512. vector_level.hpp says which a program takes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "blco/frame.hpp"
#include "blco/host_device.hpp"

namespace blco {

BLCO_HOST_DEVICE constexpr std::uint64_t low_ones(int bits) {
  return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

// Stores the `width` bits of `value` at bit `bit`. Requires: those bits are zero.
BLCO_HOST_DEVICE inline void put_bits(std::uint64_t* words, std::uint64_t bit, int width, std::uint64_t value) {
  if (width == 0) return;
  const std::uint64_t word = bit / 64;
  const int shift = static_cast<int>(bit % 64);
  words[word] |= value << shift;
  if (shift + width > 64) words[word + 1] |= value >> (64 - shift);
}

// Packs the low `width` bits (1 to 64) of each of 256 entries; zeroes up to seven bytes past them.
void pack_portable(const std::uint64_t* entries, int width, std::byte* packed);
// Writes std::bit_width of each of 256 entries.
void bit_widths_portable(const std::uint64_t* entries, std::uint8_t* widths);
// Adds the high bits of the exceptions to entries unpacked at `shape.width` bits.
void patch_portable(const std::byte* frame, FrameShape shape, std::uint64_t* entries);
// Same as decode_frame.
void decode_frame_portable(const std::byte* frame, FrameShape shape, FrameCoding coding, std::uint64_t base,
                           std::uint64_t* values);
// Decodes a plain frame of signed integers below 2^53 and divides each by `power`, a power of ten up to 10^15, times
// any power of two.
void decode_quotients_portable(const std::byte* frame, FrameShape shape, std::uint64_t base, double power,
                               double* values);

// Same as these, to the bit; pack_ writes exactly 32 * width bytes. Require: processor_vector_level() is avx2 at least.
void pack_avx2(const std::uint64_t* entries, int width, std::byte* packed);
void bit_widths_avx2(const std::uint64_t* entries, std::uint8_t* widths);
void decode_frame_avx2(const std::byte* frame, FrameShape shape, FrameCoding coding, std::uint64_t base,
                       std::uint64_t* values);
void decode_quotients_avx2(const std::byte* frame, FrameShape shape, std::uint64_t base, double power, double* values);

// Same again; decoding reads no byte past the frame. Require: processor_vector_level() is avx512.
void pack_avx512(const std::uint64_t* entries, int width, std::byte* packed);
void bit_widths_avx512(const std::uint64_t* entries, std::uint8_t* widths);
void decode_frame_avx512(const std::byte* frame, FrameShape shape, FrameCoding coding, std::uint64_t base,
                         std::uint64_t* values);
void decode_quotients_avx512(const std::byte* frame, FrameShape shape, std::uint64_t base, double power,
                             double* values);

}  // namespace blco
