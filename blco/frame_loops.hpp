// Packs and decodes a frame, on any processor and in AVX-512.
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
// Same as decode_frame.
void decode_frame_portable(const std::byte* frame, FrameShape shape, FrameCoding coding, std::uint64_t base,
                           std::uint64_t* values);

// Below: eight entries at a time. Requires, but for itself: has_frame_avx512().
bool has_frame_avx512();

// Packs the low `width` bits (1 to 64) of each of 256 entries. Writes exactly 32 * width bytes.
void pack_avx512(const std::uint64_t* entries, int width, std::byte* packed);
// Writes std::bit_width of each of 256 entries.
void bit_widths_avx512(const std::uint64_t* entries, std::uint8_t* widths);
// Same as decode_frame; reads no byte past the frame.
void decode_frame_avx512(const std::byte* frame, FrameShape shape, FrameCoding coding, std::uint64_t base,
                         std::uint64_t* values);
// Decodes a plain frame of signed integers below 2^53 and divides each by `power`, a power of ten up to 10^15, times
// any power of two; bit for bit the result of a division.
void decode_quotients_avx512(const std::byte* frame, FrameShape shape, std::uint64_t base, double power,
                             double* values);

}  // namespace blco
