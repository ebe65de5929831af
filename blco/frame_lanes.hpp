// Decode of a frame by the 32 lanes of a warp: four steps, one scan between the third and the fourth.
//
// Each lane owns eight consecutive entries. Steps of all lanes are separated by a warp barrier; the only data that
// crosses lanes are the exceptions, applied in parallel into the scratch, and one exclusive scan of the lanes' sums.
// Loads are of aligned 64-bit words, and of single bytes for the positions. Compiles for host and device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "blco/frame.hpp"
#include "blco/host_device.hpp"

namespace blco {

inline constexpr int warp_lanes = 32;
inline constexpr int lane_entries = frame_entries / warp_lanes;

// Place of an entry in the scratch of 256 words: lanes side by side, so that shared memory has no bank conflicts.
BLCO_HOST_DEVICE constexpr int frame_slot(int entry) {
  return entry % lane_entries * warp_lanes + entry / lane_entries;
}

// `width` bits from bit `bit` of `words`; reads the next word only where the field crosses into it.
BLCO_HOST_DEVICE inline std::uint64_t load_field(const std::uint64_t* words, std::uint32_t bit, int width) {
  if (width == 0) return 0;
  const std::uint32_t word = bit >> 6;
  const int shift = static_cast<int>(bit & 63);
  std::uint64_t value = words[word] >> shift;
  if (shift + width > 64) value |= words[word + 1] << (64 - shift);
  return width == 64 ? value : value & ((std::uint64_t{1} << width) - 1);
}

// Trivially copyable; the same for all lanes of a warp.
struct FrameLanes {
  const std::byte* frame = nullptr;  // 8-byte aligned
  FrameShape shape{};
  FrameCoding coding = FrameCoding::differences;
  std::uint64_t base = 0;  // the payload's

  BLCO_HOST_DEVICE const std::uint64_t* words(std::uint64_t byte_offset) const {
    return reinterpret_cast<const std::uint64_t*>(frame + byte_offset);
  }

  // Step 1: the low bits of the lane's entries.
  BLCO_HOST_DEVICE void unpack(int lane, std::uint64_t* scratch) const {
    const std::uint64_t* packed = words(packed_offset(shape));
    for (int j = 0; j < lane_entries; ++j) {
      const int entry = lane * lane_entries + j;
      scratch[frame_slot(entry)] = load_field(packed, static_cast<std::uint32_t>(entry * shape.width), shape.width);
    }
  }

  // Step 2: every 32nd exception; no two lanes touch the same entry.
  BLCO_HOST_DEVICE void patch(int lane, std::uint64_t* scratch) const {
    const std::uint64_t* high = words(high_offset(shape));
    const auto* positions = reinterpret_cast<const std::uint8_t*>(frame + positions_offset(shape));
    for (int e = lane; e < shape.exceptions; e += warp_lanes) {
      const std::uint64_t bits = load_field(high, static_cast<std::uint32_t>(e * shape.high_width), shape.high_width);
      scratch[frame_slot(positions[e])] |= bits << shape.width;
    }
  }

  // Step 3: what the warp scans, exclusively, modulo 2^64. Plain frames need no scan.
  BLCO_HOST_DEVICE std::uint64_t lane_sum(int lane, const std::uint64_t* scratch) const {
    std::uint64_t sum = 0;
    for (int j = 0; j < lane_entries; ++j) sum += scratch[frame_slot(lane * lane_entries + j)];
    return sum;
  }

  // Step 4: the lane's values, in place. `before` is the scan's result for this lane.
  BLCO_HOST_DEVICE void finish(int lane, std::uint64_t before, std::uint64_t* scratch) const {
    const std::uint64_t first = shape.own_base ? *words(0) : base;
    std::uint64_t running = first + before;
    for (int j = 0; j < lane_entries; ++j) {
      std::uint64_t& value = scratch[frame_slot(lane * lane_entries + j)];
      value = coding == FrameCoding::plain ? first + value : running += value;
    }
  }
};

}  // namespace blco
