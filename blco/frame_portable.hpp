// Packing and decoding a frame on any processor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "blco/frame.hpp"

namespace blco {

constexpr std::uint64_t low_ones(int bits) { return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; }

// Adds `value`, of `width` bits, at bit `bit` of words that are zero there.
inline void put_bits(std::uint64_t* words, std::uint64_t bit, int width, std::uint64_t value) {
  if (width == 0) return;
  const std::uint64_t word = bit / 64;
  const int shift = static_cast<int>(bit % 64);
  words[word] |= value << shift;
  if (shift + width > 64) words[word + 1] |= value >> (64 - shift);
}

// The low `width` bits, 1 to 64, of each of 256 entries, packed; up to seven bytes past them become zero.
void pack_portable(const std::uint64_t* entries, int width, std::byte* packed);
// As decode_frame does.
void decode_frame_portable(const std::byte* frame, FrameShape shape, FrameCoding coding, std::uint64_t base,
                           std::uint64_t* values);

}  // namespace blco
