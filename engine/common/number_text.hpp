// Numbers in messages and tables.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>

#include "blco/in_full.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"

namespace blco {

// Throws Error{invalid_argument}.
inline void check_index_base(int base) {
  if (base != 0 && base != 1) refuse(option_name("index_base") + " must be 0 or 1, not " + std::to_string(base));
}

// Such as "3x4x5".
inline std::string shape_text(std::span<const std::uint64_t> shape) {
  std::string text;
  for (const std::uint64_t length : shape) text.append(text.empty() ? "" : "x").append(std::to_string(length));
  return text;
}

// For a table, in the shortest form that reads back as the same double: whole numbers below 2^53 as integers, larger
// numbers with an exponent, because pandas does not read integers beyond 64 bits as numbers.
inline void append_table_number(double number, std::string& text) {
  std::array<char, 32> digits;
  char* const end = digits.data() + digits.size();
  const bool is_large = std::isfinite(number) && std::abs(number) >= 0x1p53;
  const bool is_minus_zero = number == 0 && std::signbit(number);
  const bool is_whole = std::abs(number) < 0x1p53 && number == std::trunc(number) && !is_minus_zero;
  const auto made = is_large   ? std::to_chars(digits.data(), end, number, std::chars_format::scientific)
                    : is_whole ? std::to_chars(digits.data(), end, static_cast<std::int64_t>(number))
                               : std::to_chars(digits.data(), end, number);
  text.append(digits.data(), made.ptr);
}

}  // namespace blco
