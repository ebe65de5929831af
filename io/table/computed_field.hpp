// Reads a field of a mode of times or numbers as a word: the key that the mode is numbered by.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "io/table/mode_column.hpp"
#include "io/table/number_bins.hpp"

namespace blco {

// Fields become words of 64 bits: keys whose order is that of what they mean. This is the word of a field that says
// that there is none; the last in the order. No time and no finite number has it.
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

// Of a mode of indices in text; a mode has at most 2^32 - 2 numbers there, as it has of keys.
inline constexpr std::uint32_t max_index = std::numeric_limits<std::uint32_t>::max() - 2;

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

// How the fields of one mode are read; the same for all blocks of an input.
struct ComputedForm {
  FieldReading reading = {};
  char decimal = '.';            // of numbers
  std::string missing_key = {};  // the field that says that there is none; empty: none does
  bool has_known_bins = false;   // a word is the number of one of known_bins; else the number itself
  NumberBins known_bins = {};
  bool takes_others =
      false;  // of a number outside of known_bins the word is the number itself, which is that of no bin

  bool is_computed() const { return reading.kind != FieldReading::Kind::keys; }
  bool is_index() const { return reading.kind == FieldReading::Kind::index; }
};

// Sets `word`; blanks around the field do not count. A time is taken into `span`. Returns false for a field that is
// refused. Requires: form.is_computed().
bool word_of_field(std::string_view field, const ComputedForm& form, std::uint64_t& word, TimeSpan* span = nullptr);

// The same of a finite number in a mode of bins.
bool word_in_bins(double number, const ComputedForm& form, std::uint64_t& word);

// Why a field is refused, and what to do: "'x' is ...", as a part of a message. Slow.
std::string explain_refused_field(std::string_view field, const ComputedForm& form);

}  // namespace blco
