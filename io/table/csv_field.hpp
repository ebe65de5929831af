// Fields of delimited text, in quotes or not, missing or numbers: the closing quote is found by memchr, the ends of
// other fields 64 bytes at a time.
#pragma once

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/text/tns_value.hpp"

namespace blco {

// Why parsing of a field stopped.
enum class FieldFault : std::uint8_t { none, open_quote, text_after_quote, carriage_return };

// Moves `at` from behind the opening quote of a field behind its closing quote, and unquotes the field in place.
// Returns false if there is no closing quote.
inline bool take_quoted(char*& at, const char* end, std::string_view& field) {
  char* const begin = at;
  char* to = begin;
  for (;;) {
    auto* const quote = static_cast<char*>(std::memchr(at, '"', static_cast<std::size_t>(end - at)));
    if (quote == nullptr) return false;
    if (to != at) std::memmove(to, at, static_cast<std::size_t>(quote - at));
    to += quote - at;
    at = quote + 1;
    if (*at != '"') break;
    *to++ = *at++;
  }
  field = {begin, static_cast<std::size_t>(to - begin)};
  if (to + 1 != at) std::memset(to, '"', static_cast<std::size_t>(at - to));  // no line breaks are left to be counted
  return true;
}

// Finds the separators and line ends of a text, from its start to its end.
class FieldEnds {
 public:
  // Requires: text_padding readable bytes follow the text.
  FieldEnds(char separator, char* text) : separator_(separator) { load(text); }

  // The first of them from `at` on. Requires: there is one.
  char* find(char* at) {
    auto skipped = static_cast<std::size_t>(at - window_);
    if (skipped >= window_bytes) {
      load(at);
      skipped = 0;
    }
    for (; ends_ >> skipped == 0; skipped = 0) load(window_ + window_bytes);
    return window_ + skipped + std::countr_zero(ends_ >> skipped);
  }

 private:
  static constexpr std::size_t window_bytes = 64;

  void load(char* at) {
    window_ = at;
    ends_ = 0;
#if defined(__SSE2__)
    for (std::size_t i = 0; i < window_bytes; i += 16) {
      const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + i));
      const auto is = [text](char c) { return _mm_cmpeq_epi8(text, _mm_set1_epi8(c)); };
      const int bits = _mm_movemask_epi8(_mm_or_si128(is(separator_), _mm_or_si128(is('\n'), is('\r'))));
      ends_ |= static_cast<std::uint64_t>(static_cast<unsigned>(bits)) << i;
    }
#else
    for (std::size_t i = 0; i < window_bytes; ++i) {
      ends_ |= std::uint64_t{at[i] == separator_ || at[i] == '\n' || at[i] == '\r'} << i;
    }
#endif
  }

  char separator_;
  char* window_;
  std::uint64_t ends_;  // a bit for each byte of the window
};

// Moves `at` from the start of a field to the separator or line end after it, and unquotes the field in place, without
// changing how many line breaks lie before its end. Requires: the text ends in a newline, just before `end`.
inline FieldFault take_field(char*& at, const char* end, char separator, bool has_quotes, FieldEnds& ends,
                             std::string_view& field) {
  if (!has_quotes || *at != '"') {
    const char* const begin = at;
    at = ends.find(at);
    field = {begin, static_cast<std::size_t>(at - begin)};
  } else if (!take_quoted(++at, end, field)) {
    return FieldFault::open_quote;
  }
  if (*at == separator || *at == '\n' || (*at == '\r' && at[1] == '\n')) return FieldFault::none;
  return *at == '\r' ? FieldFault::carriage_return : FieldFault::text_after_quote;
}

// What is wrong with a field, of which this was taken, and what to do: "starts with a quote that ...".
std::string explain(FieldFault fault, std::string_view field);

// The unquoted fields of one row, given without its end. Throws Error{invalid_argument} without a place.
std::vector<std::string> split_csv_row(std::string row, char separator, bool has_quotes);

// Appends a field to `text`, in quotes if it would otherwise read back differently.
void append_csv_field(std::string_view field, char separator, std::string& text);

bool is_missing_word(std::string_view field);

// True for the empty field, and for what pandas.read_csv takes for missing (its default na_values, version 2): NA, N/A,
// n/a, <NA>, #NA, #N/A, #N/A N/A, NaN, nan, -NaN, -nan, NULL, null, None, 1.#IND, -1.#IND, 1.#QNAN, -1.#QNAN.
inline bool is_missing(std::string_view field) {
  constexpr std::size_t longest_word = 8;
  if (field.empty()) return true;
  if (field.size() > longest_word || field.size() == 1) return false;
  const std::string_view second = field[0] == '-' ? field.substr(1) : field;
  const char c = second[0];
  const bool may_be = c == 'N' || c == 'n' || c == '#' || c == '<' || (c == '1' && second.substr(1, 2) == ".#");
  return may_be && is_missing_word(field);
}

// What to do about a missing cell, as the end of a message. Without `takes_key` no key can take its place; else
// `example` is one that may.
std::string missing_remedy(bool takes_key, const std::string& example);

// The field without blanks and tabs around it.
inline std::string_view trimmed(std::string_view field) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!field.empty() && is_blank(field.front())) field.remove_prefix(1);
  while (!field.empty() && is_blank(field.back())) field.remove_suffix(1);
  return field;
}

// Parses a trimmed field whose decimal sign is `decimal`, a dot or a comma; the other one is in no number.
TnsValueFault parse_decimal(std::string_view field, char decimal, double& value);

// The same for a value. Returns what is wrong with it and what to do, without naming the column; nothing if `value` is
// set.
std::optional<std::string> parse_csv_value(std::string_view field, char decimal, double& value);

}  // namespace blco
