// Chooses the shape of a frame and writes its parts: the same on the host and by one thread of a device, without memory
// of its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "blco/frame.hpp"
#include "blco/frame_loops.hpp"
#include "blco/host_device.hpp"

namespace blco {

BLCO_HOST_DEVICE inline int width_of(std::uint64_t entry) {
#if defined(__CUDA_ARCH__)
  return 64 - __clzll(static_cast<long long>(entry));
#else
  return 64 - (entry == 0 ? 64 : __builtin_clzll(entry));
#endif
}

// Number of a frame's entries per bit width.
struct WidthCounts {
  int of[65];
};

// The widths that need the fewest bytes; among equals, those with the fewest exceptions.
BLCO_HOST_DEVICE inline FrameShape choose_shape(const WidthCounts& counts, bool own_base) {
  int widest = 64;
  while (widest > 0 && counts.of[widest] == 0) --widest;

  FrameShape best{widest, 0, 0, own_base};
  std::uint64_t best_bytes = frame_bytes(best);
  int exceptions = 0;
  for (int width = widest - 1; width >= 0; --width) {
    exceptions += counts.of[width + 1];
    const FrameShape shape{width, widest - width, exceptions, own_base};
    const std::uint64_t bytes = frame_bytes(shape);
    if (bytes < best_bytes) {
      best = shape;
      best_bytes = bytes;
    }
    // From here on, exceptions become neither fewer nor shorter.
    if (frame_bytes(shape) - high_offset(shape) >= best_bytes) break;
  }
  return best;
}

// A frame's shape, and what its entries are relative to.
struct FramePlan {
  FrameShape shape;
  std::uint64_t base;
};

// The smallest frame with the payload's `base` or a base of its own: its first value or, if plain, its smallest.
// count_widths(b) returns the WidthCounts of the entries relative to b.
template <class CountWidths>
BLCO_HOST_DEVICE FramePlan plan_frame(FrameCoding coding, std::uint64_t base, std::uint64_t own_base,
                                      const CountWidths& count_widths) {
  WidthCounts counts = count_widths(base);
  const FrameShape shared = choose_shape(counts, false);
  if (own_base == base) return {shared, base};
  if (coding == FrameCoding::differences) {  // then only the first entry changes
    --counts.of[width_of(own_base - base)];
    ++counts.of[0];
  } else {
    counts = count_widths(own_base);
  }
  const FrameShape own = choose_shape(counts, true);
  return frame_bytes(own) < frame_bytes(shared) ? FramePlan{own, own_base} : FramePlan{shared, base};
}

// Writes high bits and positions of the exceptions behind the packed fields, zeroes included. `entries[i]` is entry i.
template <class Entries>
BLCO_HOST_DEVICE void put_exceptions(const Entries& entries, FrameShape shape, std::uint64_t* words) {
  for (std::uint64_t w = high_offset(shape) / 8; w < frame_bytes(shape) / 8; ++w) words[w] = 0;
  if (shape.exceptions == 0) return;
  std::uint8_t positions[frame_entries + 1];
  std::size_t count = 0;
  for (std::size_t i = 0; i < frame_entries; ++i) {
    positions[count] = static_cast<std::uint8_t>(i);
    count += entries[i] >> shape.width != 0;
  }
  std::uint64_t* high = words + high_offset(shape) / 8;
  auto* written = reinterpret_cast<std::uint8_t*>(words) + positions_offset(shape);
  for (std::size_t e = 0; e < count; ++e) {
    put_bits(high, e * static_cast<std::uint64_t>(shape.high_width), shape.high_width,
             entries[positions[e]] >> shape.width);
    written[e] = positions[e];
  }
}

// The values of a column's frame as they are packed: words, or doubles that are integers.
template <class Value>
struct ColumnFrame {
  const Value* values;
  std::size_t count;

  BLCO_HOST_DEVICE ColumnFrame(const Value* column, std::uint64_t column_count, std::uint64_t frame)
      : values(column + frame * frame_entries), count(static_cast<std::size_t>(column_count - frame * frame_entries)) {
    if (count > frame_entries) count = frame_entries;
  }

  BLCO_HOST_DEVICE std::uint64_t operator[](std::size_t i) const {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(values[i]));
  }

  BLCO_HOST_DEVICE std::int64_t smallest() const {
    auto smallest = static_cast<std::int64_t>((*this)[0]);
    for (std::size_t i = 1; i < count; ++i) {
      const auto value = static_cast<std::int64_t>((*this)[i]);
      if (value < smallest) smallest = value;
    }
    return smallest;
  }
};

// The entries of a frame, made from its values whenever they are asked for.
template <class Value>
struct FrameEntries {
  ColumnFrame<Value> frame;
  FrameCoding coding;
  std::uint64_t base;

  BLCO_HOST_DEVICE std::uint64_t operator[](std::size_t i) const {
    if (i >= frame.count) return 0;
    return frame[i] - (coding == FrameCoding::differences && i > 0 ? frame[i - 1] : base);
  }
};

// The plan that encode_frame() makes.
template <class Value>
BLCO_HOST_DEVICE FramePlan plan_frame(const ColumnFrame<Value>& frame, FrameCoding coding, std::uint64_t base) {
  const std::uint64_t own_base = coding == FrameCoding::plain ? static_cast<std::uint64_t>(frame.smallest()) : frame[0];
  return plan_frame(coding, base, own_base, [&](std::uint64_t relative_to) {
    const FrameEntries<Value> entries{frame, coding, relative_to};
    WidthCounts counts{};
    for (std::size_t i = 0; i < frame_entries; ++i) ++counts.of[width_of(entries[i])];
    return counts;
  });
}

// Writes the frame that encode_frame() appends.
template <class Value>
BLCO_HOST_DEVICE void write_frame(const ColumnFrame<Value>& frame, FrameCoding coding, const FramePlan& plan,
                                  std::uint64_t* words) {
  const FrameEntries<Value> entries{frame, coding, plan.base};
  const int width = plan.shape.width;
  if (plan.shape.own_base) words[0] = plan.base;
  std::uint64_t* packed = words + packed_offset(plan.shape) / 8;
  std::uint64_t word = 0;
  int filled = 0;
  for (std::size_t i = 0; i < frame_entries && width > 0; ++i) {
    const std::uint64_t field = entries[i] & low_ones(width);
    word |= field << filled;
    filled += width;
    if (filled < 64) continue;
    filled -= 64;
    *packed++ = word;
    word = filled == 0 ? 0 : field >> (width - filled);
  }
  put_exceptions(entries, plan.shape, words);
}

}  // namespace blco
