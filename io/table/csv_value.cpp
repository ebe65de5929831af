// Words that stand for missing fields, and numbers.
#include "io/table/csv_value.hpp"

#include <algorithm>
#include <array>

#include "blco/option_name.hpp"
#include "io/text/quoted_text.hpp"
#include "io/text/tns_value.hpp"

namespace blco {
namespace {

constexpr std::array<std::string_view, 18> missing_words = {
    "NA",   "N/A",  "n/a",  "<NA>", "#NA",  "#N/A",   "#N/A N/A", "NaN",     "nan",
    "-NaN", "-nan", "NULL", "null", "None", "1.#IND", "-1.#IND",  "1.#QNAN", "-1.#QNAN"};
std::string with_dot(std::string_view field) {
  std::string number(field);
  std::ranges::replace(number, ',', '.');
  return number;
}

std::string explain_no_number(std::string_view field, char decimal) {
  const std::string shown = quoted_for_message(field);
  if (decimal == ',' && field.find('.') != std::string_view::npos) {
    return shown + " has a dot, but numbers have a decimal comma here; remove dots that group digits, or leave out " +
           option_name("columns.decimal");
  }
  if (double ignored = 0; decimal == '.' && parse_tns_value(with_dot(field), ignored) == TnsValueFault::none) {
    return shown + " is not a number; if its comma is a decimal comma, give " + option_name("columns.decimal", ",");
  }
  return shown + " is not a number; correct it, or name another column with " + option_name("columns.value");
}

}  // namespace

bool is_missing_word(std::string_view field) { return std::ranges::find(missing_words, field) != missing_words.end(); }

TnsValueFault parse_decimal(std::string_view field, char decimal, double& value) {
  if (decimal == '.') return parse_tns_value(field, value);
  if (field.find('.') != std::string_view::npos) return TnsValueFault::no_number;
  return parse_tns_value(with_dot(field), value);
}

std::optional<std::string> parse_csv_value(std::string_view field, char decimal, double& value) {
  switch (parse_decimal(field, decimal, value)) {
    case TnsValueFault::none:
      break;
    case TnsValueFault::not_finite:
      return quoted_for_message(field) + " is not finite; replace it by a finite number, or remove the row";
    case TnsValueFault::overflow:
      return quoted_for_message(field) + " is too large for a double; scale the values down";
    case TnsValueFault::no_number:
      return explain_no_number(field, decimal);
  }
  return std::nullopt;
}

}  // namespace blco
