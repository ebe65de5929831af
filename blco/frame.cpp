// Chooses the widths of a frame, and writes its parts.
#include "blco/frame.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "blco/frame_avx512.hpp"
#include "blco/frame_portable.hpp"

namespace blco {
namespace {

static_assert(std::endian::native == std::endian::little, "payloads are little-endian and used in place");

using Entries = std::array<std::uint64_t, frame_entries>;

// Number of entries per bit width.
using WidthCounts = std::array<int, 65>;

// Entries to pack; those past the end are zero.
Entries make_entries(std::span<const std::uint64_t> values, FrameCoding coding, std::uint64_t base) {
  Entries entries;
  std::fill(entries.begin() + static_cast<std::ptrdiff_t>(values.size()), entries.end(), 0);
  if (coding == FrameCoding::plain) {
    for (std::size_t i = 0; i < values.size(); ++i) entries[i] = values[i] - base;
  } else {
    entries[0] = values[0] - base;
    for (std::size_t i = 1; i < values.size(); ++i) entries[i] = values[i] - values[i - 1];
  }
  return entries;
}

WidthCounts count_widths(const Entries& entries) {
  std::array<std::uint8_t, frame_entries> widths;
  if (has_frame_avx512()) {
    bit_widths_avx512(entries.data(), widths.data());
  } else {
    std::ranges::transform(entries, widths.begin(), [](std::uint64_t entry) { return std::bit_width(entry); });
  }
  // Four counters per width: neighbours often have the same width, and would wait for each other's increment.
  std::array<std::array<int, 4>, 65> counts{};
  for (std::size_t i = 0; i < widths.size(); i += 4) {
    for (std::size_t j = 0; j < 4; ++j) ++counts[widths[i + j]][j];
  }
  WidthCounts sums;
  for (std::size_t w = 0; w < sums.size(); ++w) sums[w] = counts[w][0] + counts[w][1] + counts[w][2] + counts[w][3];
  return sums;
}

// The widths that need the fewest bytes; among equals, those with the fewest exceptions.
FrameShape choose_shape(const WidthCounts& count_of_width, bool own_base) {
  int widest = 64;
  while (widest > 0 && count_of_width[static_cast<std::size_t>(widest)] == 0) --widest;

  FrameShape best{widest, 0, 0, own_base};
  std::uint64_t best_bytes = frame_bytes(best);
  int exceptions = 0;
  for (int width = widest - 1; width >= 0; --width) {
    exceptions += count_of_width[static_cast<std::size_t>(width) + 1];
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

void put_exceptions(const Entries& entries, FrameShape shape, std::uint64_t* words) {
  std::array<std::uint8_t, frame_entries + 1> positions;
  std::size_t count = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    positions[count] = static_cast<std::uint8_t>(i);
    count += entries[i] >> shape.width != 0;
  }
  std::uint64_t* high = words + high_offset(shape) / 8;
  for (std::size_t e = 0; e < count; ++e) {
    put_bits(high, e * static_cast<std::uint64_t>(shape.high_width), shape.high_width,
             entries[positions[e]] >> shape.width);
  }
  std::memcpy(reinterpret_cast<std::byte*>(words) + positions_offset(shape), positions.data(), count);
}

void write_frame(const Entries& entries, FrameShape shape, std::uint64_t base, std::vector<std::byte>& out) {
  constexpr std::size_t max_words = 1 + 4 * 64 + (4 * 64 + frame_entries / 8) + 2;
  std::array<std::uint64_t, max_words> words;
  if (shape.own_base) words[0] = base;
  if (shape.width > 0) {
    const auto pack = has_frame_avx512() ? pack_avx512 : pack_portable;
    pack(entries.data(), shape.width, reinterpret_cast<std::byte*>(words.data() + packed_offset(shape) / 8));
  }
  std::fill(words.data() + high_offset(shape) / 8, words.data() + frame_bytes(shape) / 8, 0);
  if (shape.exceptions > 0) put_exceptions(entries, shape, words.data());
  const auto* bytes = reinterpret_cast<const std::byte*>(words.data());
  out.insert(out.end(), bytes, bytes + frame_bytes(shape));
}

}  // namespace

FrameShape encode_frame(std::span<const std::uint64_t> values, FrameCoding coding, std::uint64_t base,
                        std::vector<std::byte>& out) {
  Entries entries = make_entries(values, coding, base);
  WidthCounts counts = count_widths(entries);
  const FrameShape shared = choose_shape(counts, false);
  if (coding == FrameCoding::differences) {
    // A base of the frame's own changes only the first entry.
    --counts[static_cast<std::size_t>(std::bit_width(entries[0]))];
    ++counts[0];
    const FrameShape own = choose_shape(counts, true);
    const bool take_own = frame_bytes(own) < frame_bytes(shared);
    if (take_own) entries[0] = 0;
    write_frame(entries, take_own ? own : shared, values[0], out);
    return take_own ? own : shared;
  }
  const std::uint64_t min = *std::min_element(values.begin(), values.end(), [](std::uint64_t a, std::uint64_t b) {
    return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b);
  });
  if (min != base) {
    const Entries with_own = make_entries(values, coding, min);
    const FrameShape own = choose_shape(count_widths(with_own), true);
    if (frame_bytes(own) < frame_bytes(shared)) {
      write_frame(with_own, own, min, out);
      return own;
    }
  }
  write_frame(entries, shared, min, out);
  return shared;
}

void decode_frame(const std::byte* frame, FrameShape shape, FrameCoding coding, std::uint64_t base,
                  std::uint64_t* values) {
  const auto decode = has_frame_avx512() ? decode_frame_avx512 : decode_frame_portable;
  decode(frame, shape, coding, base, values);
}

}  // namespace blco
