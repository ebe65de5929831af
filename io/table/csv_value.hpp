// Fields of tables that are numbers or missing.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "io/text/tns_value.hpp"

namespace blco {

inline constexpr std::size_t longest_missing_word = 8;
bool is_missing_word(std::string_view field);

// True for the empty field, and for what pandas.read_csv takes for missing (its default na_values, version 2): NA, N/A,
// n/a, <NA>, #NA, #N/A, #N/A N/A, NaN, nan, -NaN, -nan, NULL, null, None, 1.#IND, -1.#IND, 1.#QNAN, -1.#QNAN.
inline bool is_missing(std::string_view field) {
  if (field.empty()) return true;
  if (field.size() > longest_missing_word) return false;
  const char c = field[0];
  const bool may_be = c == 'N' || c == 'n' || c == '#' || c == '<' || c == '-' || (c == '1' && field.size() >= 6);
  return may_be && is_missing_word(field);
}

// The field without blanks and tabs around it.
inline std::string_view trimmed(std::string_view field) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!field.empty() && is_blank(field.front())) field.remove_prefix(1);
  while (!field.empty() && is_blank(field.back())) field.remove_suffix(1);
  return field;
}

// Parses a trimmed field whose decimal sign is `decimal`, a dot or a comma; the other one is in no number.
TnsValueFault parse_decimal(std::string_view field, char decimal, double& value);

// The same for a value. Returns what is wrong with it and what to
// do, without naming the column; nothing if `value` is set.
std::optional<std::string> parse_csv_value(std::string_view field, char decimal, double& value);

}  // namespace blco
