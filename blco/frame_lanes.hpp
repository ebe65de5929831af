// Decodes a frame with the 32 lanes of a warp; each lane owns eight consecutive entries and keeps them in registers.
//
// Only two things cross lanes: the exceptions, which are patched in scratch memory, and one exclusive scan of the
// lanes' sums. Loads are aligned words of 32 or 64 bits, and single bytes for the positions. Compiles for host and
// device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "blco/frame.hpp"
#include "blco/host_device.hpp"

namespace blco {

inline constexpr int warp_lanes = 32;
inline constexpr int lane_entries = frame_entries / warp_lanes;

// Slot of an entry in a scratch of 256 words: lanes are adjacent, so shared memory has no bank conflicts.
BLCO_HOST_DEVICE constexpr int frame_slot(int entry) {
  return entry % lane_entries * warp_lanes + entry / lane_entries;
}

// Reads bits [bit, bit + width) of `words`, also the word behind if the field ends with a word. Width 0 gives 0.
BLCO_HOST_DEVICE inline std::uint64_t load_field(const std::uint64_t* words, std::uint32_t bit, int width) {
  const std::uint64_t low = words[bit >> 6];
  const std::uint64_t high = words[(bit + static_cast<std::uint32_t>(width)) >> 6];
  const std::uint32_t shift = bit & 63;
  const std::uint64_t mask = width == 0 ? 0 : ~std::uint64_t{0} >> (64 - width);
  return (low >> shift | high << 1 << (63 - shift)) & mask;
}

// Trivially copyable; the same for all lanes of a warp.
struct FrameLanes {
  const std::byte* frame = nullptr;  // 8-byte aligned, followed by 8 readable bytes
  FrameShape shape{};
  std::uint64_t base = 0;  // of the payload

  template <class Word>
  BLCO_HOST_DEVICE const Word* words(std::uint64_t byte_offset) const {
    return reinterpret_cast<const Word*>(frame + byte_offset);
  }

  // Step 1: the low bits of the lane's entries.
  BLCO_HOST_DEVICE void unpack(int lane, std::uint64_t (&fields)[lane_entries]) const {
    const auto width = static_cast<std::uint32_t>(shape.width);
    const std::uint32_t first = static_cast<std::uint32_t>(lane * lane_entries) * width;
    if (width <= 32) {
      const auto* packed = words<std::uint32_t>(packed_offset(shape));
      const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << width) - 1);
      for (std::uint32_t j = 0; j < lane_entries; ++j) {
        const std::uint32_t bit = first + j * width;
        const std::uint64_t pair = std::uint64_t{packed[(bit >> 5) + 1]} << 32 | packed[bit >> 5];
        fields[j] = static_cast<std::uint32_t>(pair >> (bit & 31)) & mask;
      }
    } else {
      const auto* packed = words<std::uint64_t>(packed_offset(shape));
      for (std::uint32_t j = 0; j < lane_entries; ++j) fields[j] = load_field(packed, first + j * width, shape.width);
    }
  }

  // Step 2, for frames with exceptions: write the fields to their slots, patch every 32nd exception, read them back;
  // a barrier separates the three. Exceptions have positions of their own, so no two lanes touch the same entry.
  BLCO_HOST_DEVICE void patch(int lane, std::uint64_t* scratch) const {
    for (int e = lane; e < shape.exceptions; e += warp_lanes) {
      scratch[frame_slot(exception_entry(e))] |= exception_bits(e);
    }
  }
  BLCO_HOST_DEVICE int exception_entry(int e) const { return words<std::uint8_t>(positions_offset(shape))[e]; }
  BLCO_HOST_DEVICE std::uint64_t exception_bits(int e) const {
    const auto* high = words<std::uint64_t>(high_offset(shape));
    return load_field(high, static_cast<std::uint32_t>(e * shape.high_width), shape.high_width) << shape.width;
  }

  // Step 3, for differences: running sums of the lane's entries, modulo 2^64. Returns the lane's sum, which the warp
  // scans exclusively; step 4 adds the result and first().
  BLCO_HOST_DEVICE static std::uint64_t accumulate(std::uint64_t (&fields)[lane_entries]) {
    for (int j = 1; j < lane_entries; ++j) fields[j] += fields[j - 1];
    return fields[lane_entries - 1];
  }

  // What entries are relative to: a plain entry is its field plus this.
  BLCO_HOST_DEVICE std::uint64_t first() const { return shape.own_base ? *words<std::uint64_t>(0) : base; }
};

}  // namespace blco
