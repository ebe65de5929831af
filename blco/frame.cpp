// Chooses the widths of a frame, and writes its parts; packs and decodes it on any processor.
#include "blco/frame.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "blco/frame_encoder.hpp"
#include "blco/frame_loops.hpp"
#include "blco/vector_level.hpp"

namespace blco {
namespace {

std::uint64_t get_bits(const std::uint64_t* words, std::uint64_t bit, int width) {
  if (width == 0) return 0;
  const std::uint64_t word = bit / 64;
  const int shift = static_cast<int>(bit % 64);
  std::uint64_t value = words[word] >> shift;
  if (shift + width > 64) value |= words[word + 1] << (64 - shift);
  return value & low_ones(width);
}

constexpr int widest_in_one_word = 57;  // leaves room for a shift of up to 7 bits

// Eight entries take `width` bytes, so every group of eight starts at a byte. Stores whole words: up to seven bytes
// past the end become zero.
void pack_bytes(const std::uint64_t* entries, int width, std::byte* packed) {
  const std::uint64_t mask = low_ones(width);
  for (std::size_t group = 0; group < frame_entries; group += 8, packed += width) {
    std::byte* at = packed;
    std::uint64_t word = 0;
    int filled = 0;
    for (std::size_t j = 0; j < 8; ++j) {
      word |= (entries[group + j] & mask) << filled;
      std::memcpy(at, &word, 8);
      filled += width;
      at += filled / 8;
      word = filled < 64 ? word >> (filled & ~7) : 0;
      filled &= 7;
    }
  }
}

void pack_words(const std::uint64_t* entries, int width, std::uint64_t* words) {
  std::fill_n(words, 4 * width, 0);
  for (std::size_t i = 0; i < frame_entries; ++i) {
    put_bits(words, i * static_cast<std::uint64_t>(width), width, entries[i] & low_ones(width));
  }
}

// Eight entries take `width` bytes, so their offsets and shifts are the same in every group of eight.
void unpack_groups(const std::byte* packed, int width, std::uint64_t* values) {
  std::array<int, 8> offset;
  std::array<int, 8> shift;
  for (int j = 0; j < 8; ++j) {
    offset[static_cast<std::size_t>(j)] = j * width / 8;
    shift[static_cast<std::size_t>(j)] = j * width % 8;
  }
  const std::uint64_t mask = low_ones(width);
  for (int group = 0; group < frame_entries / 8; ++group, packed += width, values += 8) {
#pragma GCC unroll 8
    for (std::size_t j = 0; j < 8; ++j) {
      std::uint64_t word = 0;
      std::memcpy(&word, packed + offset[j], 8);
      values[j] = (word >> shift[j]) & mask;
    }
  }
}

void unpack(const std::byte* packed, int width, std::uint64_t* values) {
  if (width == 0) {
    std::fill_n(values, frame_entries, 0);
  } else if (width == 64) {
    std::memcpy(values, packed, 8 * frame_entries);
  } else if (width <= widest_in_one_word) {
    unpack_groups(packed, width, values);
  } else {
    const auto* words = reinterpret_cast<const std::uint64_t*>(packed);
    for (std::uint64_t i = 0; i < frame_entries; ++i) {
      values[i] = get_bits(words, i * static_cast<std::uint64_t>(width), width);
    }
  }
}

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
  at_vector_level(bit_widths_portable, bit_widths_avx2, bit_widths_avx512)(entries.data(), widths.data());
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
    const auto pack = at_vector_level(pack_portable, pack_avx2, pack_avx512);
    pack(entries.data(), shape.width, reinterpret_cast<std::byte*>(words.data() + packed_offset(shape) / 8));
  }
  put_exceptions(entries, shape, words.data());
  const auto* bytes = reinterpret_cast<const std::byte*>(words.data());
  out.insert(out.end(), bytes, bytes + frame_bytes(shape));
}

}  // namespace

void pack_portable(const std::uint64_t* entries, int width, std::byte* packed) {
  if (width > widest_in_one_word) {
    pack_words(entries, width, reinterpret_cast<std::uint64_t*>(packed));
  } else {
    pack_bytes(entries, width, packed);
  }
}

void bit_widths_portable(const std::uint64_t* entries, std::uint8_t* widths) {
  std::transform(entries, entries + frame_entries, widths, [](std::uint64_t entry) { return std::bit_width(entry); });
}

void patch_portable(const std::byte* frame, FrameShape shape, std::uint64_t* entries) {
  const auto* high = reinterpret_cast<const std::uint64_t*>(frame + high_offset(shape));
  const auto* positions = reinterpret_cast<const std::uint8_t*>(frame + positions_offset(shape));
  for (int e = 0; e < shape.exceptions; ++e) {
    const std::uint64_t bit = static_cast<std::uint64_t>(e) * static_cast<std::uint64_t>(shape.high_width);
    entries[positions[e]] |= get_bits(high, bit, shape.high_width) << shape.width;
  }
}

void decode_frame_portable(const std::byte* frame, FrameShape shape, FrameCoding coding, std::uint64_t base,
                           std::uint64_t* values) {
  if (shape.own_base) std::memcpy(&base, frame, 8);
  unpack(frame + packed_offset(shape), shape.width, values);
  patch_portable(frame, shape, values);
  if (coding == FrameCoding::plain) {
    for (int i = 0; i < frame_entries; ++i) values[i] += base;
  } else {
    for (int i = 0; i < frame_entries; ++i) values[i] = base += values[i];
  }
}

void decode_quotients_portable(const std::byte* frame, FrameShape shape, std::uint64_t base, double power,
                               double* values) {
  Entries integers;
  decode_frame_portable(frame, shape, FrameCoding::plain, base, integers.data());
  for (std::size_t i = 0; i < integers.size(); ++i) {
    const auto value = static_cast<double>(static_cast<std::int64_t>(integers[i]));
    values[i] = power != 1 ? value / power : value;
  }
}

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
  const auto decode = at_vector_level(decode_frame_portable, decode_frame_avx2, decode_frame_avx512);
  decode(frame, shape, coding, base, values);
}

}  // namespace blco
