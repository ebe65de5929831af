// Fields that are read as times or numbers become words of 64 bits: keys whose order is that of what they mean.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

namespace blco {

// Of a field that says that there is none; the last in the order. No time and no finite number has it.
inline constexpr std::uint64_t missing_word = std::numeric_limits<std::uint64_t>::max();

inline constexpr std::uint64_t word_sign_bit = std::uint64_t{1} << 63;

// Both zeros are one number.
inline std::uint64_t word_of_number(double number) {
  const auto bits = std::bit_cast<std::uint64_t>(number == 0 ? 0.0 : number);
  return (bits & word_sign_bit) != 0 ? ~bits : bits | word_sign_bit;
}

inline double number_of_word(std::uint64_t word) {
  return std::bit_cast<double>((word & word_sign_bit) != 0 ? word & ~word_sign_bit : ~word);
}

// Requires: not the largest integer.
inline std::uint64_t word_of_integer(std::int64_t integer) {
  return static_cast<std::uint64_t>(integer) ^ word_sign_bit;
}

inline std::int64_t integer_of_word(std::uint64_t word) { return static_cast<std::int64_t>(word ^ word_sign_bit); }

// A word as the key of a dictionary, and back.
inline std::string_view key_of_word(const std::uint64_t& word) {
  return {reinterpret_cast<const char*>(&word), sizeof(word)};
}

inline std::uint64_t word_of_key(std::string_view key) {
  std::uint64_t word = 0;
  std::memcpy(&word, key.data(), sizeof(word));
  return word;
}

}  // namespace blco
