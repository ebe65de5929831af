// A frame: 256 consecutive entries of one column, packed at the frame's own width, with a few exceptions patched.
//
// Patched frames of reference, after Zukowski et al., ICDE 2006 (PFOR); the exceptions are stored separately so that
// they can be applied in parallel. Layout, in order:
//   base         u64, only if own_base is set; otherwise the payload's base counts
//   packed       256 fields of `width` bits, the low bits of every entry: 4 * width words of 64 bits
//   high bits    `exceptions` fields of `high_width` bits, starting at a word
//   positions    `exceptions` bytes, the entries that the high bits belong to, ascending
//   zero bytes   up to a multiple of 8
// An entry is (field | high << width). With differences, entry i is value i minus value i-1 modulo 2^64, and entry 0 is
// value 0 minus the base; without, an entry is its value minus the base.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blco/host_device.hpp"

namespace blco {

inline constexpr int frame_entries = 256;

struct FrameShape {
  int width = 0;       // 0..64
  int high_width = 0;  // 0..64 - width
  int exceptions = 0;  // 0..256
  bool own_base = false;
};

// Descriptor in the frame table: width in bits 0-6, high_width 7-13, exceptions 14-22, own_base 23.
BLCO_HOST_DEVICE constexpr std::uint32_t pack_descriptor(FrameShape shape) {
  return static_cast<std::uint32_t>(shape.width) | static_cast<std::uint32_t>(shape.high_width) << 7 |
         static_cast<std::uint32_t>(shape.exceptions) << 14 | static_cast<std::uint32_t>(shape.own_base) << 23;
}
BLCO_HOST_DEVICE constexpr FrameShape unpack_descriptor(std::uint32_t bits) {
  return {static_cast<int>(bits & 127), static_cast<int>(bits >> 7 & 127), static_cast<int>(bits >> 14 & 511),
          (bits >> 23 & 1) != 0};
}

// Byte offsets from the start of a frame.
BLCO_HOST_DEVICE constexpr std::uint64_t packed_offset(FrameShape shape) { return shape.own_base ? 8 : 0; }
BLCO_HOST_DEVICE constexpr std::uint64_t high_offset(FrameShape shape) {
  return packed_offset(shape) + 32 * static_cast<std::uint64_t>(shape.width);
}
BLCO_HOST_DEVICE constexpr std::uint64_t positions_offset(FrameShape shape) {
  const auto high_bits = static_cast<std::uint64_t>(shape.exceptions) * static_cast<std::uint64_t>(shape.high_width);
  return high_offset(shape) + (high_bits + 7) / 8;
}
BLCO_HOST_DEVICE constexpr std::uint64_t frame_bytes(FrameShape shape) {
  return (positions_offset(shape) + static_cast<std::uint64_t>(shape.exceptions) + 7) / 8 * 8;
}

enum class FrameCoding { differences, plain };

// Appends the smallest frame that holds the 1 to 256 values to `out` and returns its shape. `base` is the payload's.
// Requires: the size of `out` is a multiple of 8.
FrameShape encode_frame(std::span<const std::uint64_t> values, FrameCoding coding, std::uint64_t base,
                        std::vector<std::byte>& out);

// Writes all 256 entries to `values`; those past the column's end are unspecified. Requires: `frame` is 8-byte aligned,
// already checked, and followed by at least 8 readable bytes.
void decode_frame(const std::byte* frame, FrameShape shape, FrameCoding coding, std::uint64_t base,
                  std::uint64_t* values);

}  // namespace blco
