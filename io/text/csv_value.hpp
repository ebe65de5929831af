// Fields of tables that are numbers or missing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace blco {

// True for the empty field, and for what pandas.read_csv takes for missing (its default na_values, version 2): NA, N/A,
// n/a, <NA>, #NA, #N/A, #N/A N/A, NaN, nan, -NaN, -nan, NULL, null, None, 1.#IND, -1.#IND, 1.#QNAN, -1.#QNAN.
bool is_missing(std::string_view field);

// The field without blanks and tabs around it.
std::string_view trimmed(std::string_view field);

// Parses a trimmed field whose decimal sign is `decimal`, a dot or a comma. Returns what is wrong with it and what to
// do, without naming the column; nothing if `value` is set.
std::optional<std::string> parse_csv_value(std::string_view field, char decimal, double& value);

}  // namespace blco
