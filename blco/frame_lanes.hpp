// Decodes a frame with the 32 lanes of a warp, in four steps, with one scan between the third and the fourth.
//
// Each lane owns eight consecutive entries. A warp barrier separates the steps. Only two things cross lanes: the
// exceptions, which are applied to the scratch in parallel, and one exclusive scan of the lanes' sums. Loads are
// aligned 64-bit words, and single bytes for the positions. Compiles for host and device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "blco/frame.hpp"
#include "blco/host_device.hpp"

namespace blco {

inline constexpr int warp_lanes = 32;
inline constexpr int lane_entries = frame_entries / warp_lanes;

// Slot of an entry in the scratch of 256 words: lanes are adjacent, so shared memory has no bank conflicts.
BLCO_HOST_DEVICE constexpr int frame_slot(int entry) {
  return entry % lane_entries * warp_lanes + entry / lane_entries;
}

// Reads `width` bits from bit `bit` of `words`; touches the next word only if the field crosses into it.
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
  std::uint64_t base = 0;  // of the payload

  BLCO_HOST_DEVICE const std::uint64_t* words(std::uint64_t byte_offset) const {
    return reinterpret_cast<const std::uint64_t*>(frame + byte_offset);
  }

  // Step 1: unpack the low bits of the lane's entries.
  BLCO_HOST_DEVICE void unpack(int lane, std::uint64_t* scratch) const {
    const std::uint64_t* packed = words(packed_offset(shape));
    for (int j = 0; j < lane_entries; ++j) {
      const int entry = lane * lane_entries + j;
      scratch[frame_slot(entry)] = load_field(packed, static_cast<std::uint32_t>(entry * shape.width), shape.width);
    }
  }

  // Step 2: patch every 32nd exception; no two lanes touch the same entry.
  BLCO_HOST_DEVICE void patch(int lane, std::uint64_t* scratch) const {
    const std::uint64_t* high = words(high_offset(shape));
    const auto* positions = reinterpret_cast<const std::uint8_t*>(frame + positions_offset(shape));
    for (int e = lane; e < shape.exceptions; e += warp_lanes) {
      const std::uint64_t bits = load_field(high, static_cast<std::uint32_t>(e * shape.high_width), shape.high_width);
      scratch[frame_slot(positions[e])] |= bits << shape.width;
    }
  }

  // Step 3: the lane's sum, which the warp scans exclusively, modulo 2^64. Plain frames need no scan.
  BLCO_HOST_DEVICE std::uint64_t lane_sum(int lane, const std::uint64_t* scratch) const {
    std::uint64_t sum = 0;
    for (int j = 0; j < lane_entries; ++j) sum += scratch[frame_slot(lane * lane_entries + j)];
    return sum;
  }

  // Step 4: turn the lane's entries into values, in place. `before` is the scan's result for this lane.
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
