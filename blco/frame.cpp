// Choice of widths, packing and the scalar decode of a frame.
#include "blco/frame.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "blco/frame_avx512.hpp"

namespace blco {
namespace {

static_assert(std::endian::native == std::endian::little, "payloads are little-endian and used in place");

using Entries = std::array<std::uint64_t, frame_entries>;

constexpr std::uint64_t low_ones(int bits) { return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; }

// Entries to pack; those past the end are zero.
Entries make_entries(std::span<const std::uint64_t> values, FrameCoding coding, std::uint64_t base) {
  Entries entries{};
  if (coding == FrameCoding::plain) {
    for (std::size_t i = 0; i < values.size(); ++i) entries[i] = values[i] - base;
  } else {
    entries[0] = values[0] - base;
    for (std::size_t i = 1; i < values.size(); ++i) entries[i] = values[i] - values[i - 1];
  }
  return entries;
}

// The widths of fewest bytes; among equals the one with fewest exceptions.
FrameShape choose_shape(const Entries& entries, bool own_base) {
  std::array<int, 65> count_of_width{};
  for (const std::uint64_t entry : entries) ++count_of_width[static_cast<std::size_t>(std::bit_width(entry))];
  int widest = 64;
  while (widest > 0 && count_of_width[static_cast<std::size_t>(widest)] == 0) --widest;

  FrameShape best{widest, 0, 0, own_base};
  int exceptions = 0;
  for (int width = widest - 1; width >= 0; --width) {
    exceptions += count_of_width[static_cast<std::size_t>(width) + 1];
    const FrameShape shape{width, widest - width, exceptions, own_base};
    if (frame_bytes(shape) < frame_bytes(best)) best = shape;
  }
  return best;
}

void put_bits(std::uint64_t* words, std::uint64_t bit, int width, std::uint64_t value) {
  if (width == 0) return;
  const std::uint64_t word = bit / 64;
  const int shift = static_cast<int>(bit % 64);
  words[word] |= value << shift;
  if (shift + width > 64) words[word + 1] |= value >> (64 - shift);
}

std::uint64_t get_bits(const std::uint64_t* words, std::uint64_t bit, int width) {
  if (width == 0) return 0;
  const std::uint64_t word = bit / 64;
  const int shift = static_cast<int>(bit % 64);
  std::uint64_t value = words[word] >> shift;
  if (shift + width > 64) value |= words[word + 1] << (64 - shift);
  return value & low_ones(width);
}

void write_frame(const Entries& entries, FrameShape shape, std::uint64_t base, std::vector<std::byte>& out) {
  std::vector<std::uint64_t> words(frame_bytes(shape) / 8);
  if (shape.own_base) words[0] = base;
  std::uint64_t* packed = words.data() + packed_offset(shape) / 8;
  std::uint64_t* high = words.data() + high_offset(shape) / 8;
  auto* positions = reinterpret_cast<std::uint8_t*>(words.data()) + positions_offset(shape);
  std::uint64_t exception = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    put_bits(packed, i * static_cast<std::uint64_t>(shape.width), shape.width, entries[i] & low_ones(shape.width));
    if (static_cast<int>(std::bit_width(entries[i])) > shape.width) {
      put_bits(high, exception * static_cast<std::uint64_t>(shape.high_width), shape.high_width,
               entries[i] >> shape.width);
      positions[exception++] = static_cast<std::uint8_t>(i);
    }
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(words.data());
  out.insert(out.end(), bytes, bytes + 8 * words.size());
}

// Eight entries take `width` bytes, so their offsets and shifts are the same in every group of eight.
__attribute__((always_inline)) inline void unpack_body(const std::byte* packed, int width, std::uint64_t* values) {
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

using Unpack = void (*)(const std::byte*, int, std::uint64_t*);

void unpack_portable(const std::byte* packed, int width, std::uint64_t* values) { unpack_body(packed, width, values); }

#if defined(__x86_64__)
__attribute__((target("bmi2"))) void unpack_bmi2(const std::byte* packed, int width, std::uint64_t* values) {
  unpack_body(packed, width, values);
}
#endif

Unpack choose_unpack() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("bmi2")) return unpack_bmi2;
#endif
  return unpack_portable;
}

void unpack(const std::byte* packed, int width, std::uint64_t* values) {
  constexpr int widest_in_one_load = 57;  // a shift of up to 7 bits fits beside it
  if (width == 0) {
    std::fill_n(values, frame_entries, 0);
  } else if (width == 64) {
    std::memcpy(values, packed, 8 * frame_entries);
  } else if (has_frame_avx512()) {
    unpack_avx512(packed, width, values);
  } else if (width <= widest_in_one_load) {
    static const Unpack chosen = choose_unpack();
    chosen(packed, width, values);
  } else {
    const auto* words = reinterpret_cast<const std::uint64_t*>(packed);
    for (std::uint64_t i = 0; i < frame_entries; ++i) {
      values[i] = get_bits(words, i * static_cast<std::uint64_t>(width), width);
    }
  }
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
  const Entries with_own = make_entries(values, coding, own_base);
  const Entries with_shared = make_entries(values, coding, base);
  const FrameShape own = choose_shape(with_own, true);
  const FrameShape shared = choose_shape(with_shared, false);
  const bool take_own = frame_bytes(own) < frame_bytes(shared);
  write_frame(take_own ? with_own : with_shared, take_own ? own : shared, own_base, out);
  return take_own ? own : shared;
}

void decode_frame(const std::byte* frame, FrameShape shape, FrameCoding coding, std::uint64_t base,
                  std::uint64_t* values) {
  if (shape.own_base) std::memcpy(&base, frame, 8);
  unpack(frame + packed_offset(shape), shape.width, values);

  const auto* high = reinterpret_cast<const std::uint64_t*>(frame + high_offset(shape));
  const auto* positions = reinterpret_cast<const std::uint8_t*>(frame + positions_offset(shape));
  for (int e = 0; e < shape.exceptions; ++e) {
    const std::uint64_t bit = static_cast<std::uint64_t>(e) * static_cast<std::uint64_t>(shape.high_width);
    values[positions[e]] |= get_bits(high, bit, shape.high_width) << shape.width;
  }

  if (coding == FrameCoding::plain) {
    for (int i = 0; i < frame_entries; ++i) values[i] += base;
  } else if (has_frame_avx512()) {
    scan_avx512(base, values);
  } else {
    for (int i = 0; i < frame_entries; ++i) values[i] = base += values[i];
  }
}

}  // namespace blco
