// Text read many bytes at a time: lines, digits, and numbers of a few digits.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace blco {

static_assert(std::endian::native == std::endian::little, "digits are loaded as little-endian words");

// Readable bytes that must follow a block of text, because it is read many bytes at a time.
inline constexpr std::size_t text_padding = 64;

struct TextCensus {
  std::uint64_t lines = 0;
  bool is_ascii = true;
};

inline TextCensus take_census(std::string_view text) {
  constexpr std::size_t part_bytes = 192;  // so that counts of a part fit a byte, and the compiler's vectors are full
  TextCensus census;
  std::uint8_t all_bits = 0;
  std::size_t at = 0;
  for (; at + part_bytes <= text.size(); at += part_bytes) {
    std::uint8_t lines = 0;
    for (std::size_t i = at; i < at + part_bytes; ++i) {
      lines = static_cast<std::uint8_t>(lines + (text[i] == '\n'));
      all_bits |= static_cast<std::uint8_t>(text[i]);
    }
    census.lines += lines;
  }
  for (; at < text.size(); ++at) {
    census.lines += text[at] == '\n';
    all_bits |= static_cast<std::uint8_t>(text[at]);
  }
  census.is_ascii = all_bits < 0x80;
  return census;
}

struct Digits {
  std::uint64_t value = 0;
  unsigned count = 0;  // of the loaded digits, at most 8
};

// A bit in each byte that is no digit.
inline std::uint64_t other_bytes(std::uint64_t word) {
  word ^= 0x3030303030303030;
  return (((word & 0x7f7f7f7f7f7f7f7f) + 0x7676767676767676) | word) & 0x8080808080808080;
}

// The leading digits among the eight bytes at `at`, without a branch on their number.
inline Digits load_digits(const char* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  const unsigned count = static_cast<unsigned>(std::countr_zero(other_bytes(word))) / 8;
  if (count == 0) return {};
  word = (word ^ 0x3030303030303030) << (64 - 8 * count);
  word = (word * 10 + (word >> 8)) & 0x00ff00ff00ff00ff;
  word = (word * 100 + (word >> 16)) & 0x0000ffff0000ffff;
  word = (word * 10000 + (word >> 32)) & 0x00000000ffffffff;
  return {word, count};
}

inline constexpr std::array<std::uint64_t, 9> integer_power_of_ten = {1,      10,      100,      1000,     10000,
                                                                      100000, 1000000, 10000000, 100000000};

template <class Number>
struct ParsedNumber {
  const char* end = nullptr;  // null: there is none
  Number value = 0;
};

// A number of the form -12.34 at `at`. None of any other form, nor of more digits than a single division rounds: with
// at most eight before and after the point, it is an exact integer below 2^53 over an exact power of ten (Clinger
// 1990). Requires: text_padding readable bytes behind the number.
inline ParsedNumber<double> parse_short_number(const char* at, char point) {
  constexpr std::array<double, 9> power_of_ten = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
  const bool is_negative = *at == '-';
  at += is_negative;
  const Digits whole = load_digits(at);
  if (whole.count == 0) return {};
  at += whole.count;
  double magnitude = static_cast<double>(whole.value);
  if (*at == point) {
    const Digits fraction = load_digits(++at);
    at += fraction.count;
    const std::uint64_t mantissa = whole.value * integer_power_of_ten[fraction.count] + fraction.value;
    if (mantissa >= std::uint64_t{1} << 53) return {};
    magnitude = static_cast<double>(mantissa) / power_of_ten[fraction.count];
  }
  return {at, is_negative ? -magnitude : magnitude};
}

}  // namespace blco
