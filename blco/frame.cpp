// Chooses the widths of a frame, and writes its parts.
#include "blco/frame.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "blco/frame_avx512.hpp"
#include "blco/frame_encoder.hpp"
#include "blco/frame_portable.hpp"

namespace blco {
namespace {

static_assert(std::endian::native == std::endian::little, "payloads are little-endian and used in place");

using Entries = std::array<std::uint64_t, frame_entries>;

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
  for (std::size_t w = 0; w < counts.size(); ++w)
    sums.of[w] = counts[w][0] + counts[w][1] + counts[w][2] + counts[w][3];
  return sums;
}

void write_frame(const Entries& entries, FrameShape shape, std::uint64_t base, std::vector<std::byte>& out) {
  constexpr std::size_t max_words = 1 + 4 * 64 + (4 * 64 + frame_entries / 8) + 2;
  std::array<std::uint64_t, max_words> words;
  if (shape.own_base) words[0] = base;
  if (shape.width > 0) {
    const auto pack = has_frame_avx512() ? pack_avx512 : pack_portable;
    pack(entries.data(), shape.width, reinterpret_cast<std::byte*>(words.data() + packed_offset(shape) / 8));
  }
  put_exceptions(entries, shape, words.data());
  const auto* bytes = reinterpret_cast<const std::byte*>(words.data());
  out.insert(out.end(), bytes, bytes + frame_bytes(shape));
}

}  // namespace

FrameShape encode_frame(std::span<const std::uint64_t> values, FrameCoding coding, std::uint64_t base,
                        std::vector<std::byte>& out) {
  std::uint64_t own_base = values[0];
  if (coding == FrameCoding::plain) {
    own_base = *std::min_element(values.begin(), values.end(), [](std::uint64_t a, std::uint64_t b) {
      return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b);
    });
  }
  Entries entries;
  std::uint64_t relative_to = base;
  const FramePlan plan = plan_frame(coding, base, own_base, [&](std::uint64_t from) {
    entries = make_entries(values, coding, from);
    relative_to = from;
    return count_widths(entries);
  });
  if (coding == FrameCoding::differences) {
    entries[0] = values[0] - plan.base;
  } else if (plan.base != relative_to) {
    entries = make_entries(values, coding, plan.base);
  }
  write_frame(entries, plan.shape, plan.base, out);
  return plan.shape;
}

void decode_frame(const std::byte* frame, FrameShape shape, FrameCoding coding, std::uint64_t base,
                  std::uint64_t* values) {
  const auto decode = has_frame_avx512() ? decode_frame_avx512 : decode_frame_portable;
  decode(frame, shape, coding, base, values);
}

}  // namespace blco
