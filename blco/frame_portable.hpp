// Packs and decodes a frame on any processor.
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

}  // namespace blco
