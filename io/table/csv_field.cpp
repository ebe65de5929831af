// Explains what is wrong with fields, and takes single rows apart.
#include "io/table/csv_field.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "io/text/quoted_text.hpp"
#include "io/text/text_scan.hpp"
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

// Of a number whose digits are grouped by three, such as 1,234,567.5: the number without the groups, and the sign
// between them. Else empty.
std::pair<std::string, char> without_groups(std::string_view field, char decimal) {
  constexpr std::string_view digits = "0123456789";
  const std::size_t first = field.find_first_not_of("+-");
  const std::size_t point = std::min(field.find(decimal), field.size());
  for (const char sign : {',', '.', '\'', ' ', '_'}) {
    std::string number(field.substr(0, std::min(first, field.size())));
    std::size_t at = number.size();
    std::size_t groups = 0;
    for (bool is_whole = sign != decimal; is_whole && at < point; ++groups) {
      const std::size_t end = std::min(field.find(sign, at), point);
      const std::string_view group = field.substr(at, end - at);
      is_whole = group.find_first_not_of(digits) == group.npos && end != point - 1 &&
                 (groups == 0 ? !group.empty() && group.size() <= 3 : group.size() == 3);
      number += group;
      at = is_whole ? std::min(end + 1, point) : field.size() + 1;
    }
    const std::string_view rest = field.substr(point);
    const bool is_number = at == point && rest.find_first_not_of(digits, 1) == rest.npos;
    if (groups > 1 && is_number) return {number.append(rest), sign};
  }
  return {};
}

std::string explain_no_number(std::string_view field, char decimal) {
  const std::string shown = quoted_for_message(field);
  if (decimal == ',' && field.find('.') != std::string_view::npos) {
    return shown + " has a dot, but numbers have a decimal comma here; remove dots that group digits, or leave out " +
           option_name("columns.decimal");
  }
  if (const auto [number, sign] = without_groups(field, decimal); !number.empty()) {
    const bool may_be_decimal = sign == ',' && std::ranges::count(field, ',') == 1 && field.find('.') == field.npos;
    return shown + " is not a number; if " + quoted_for_message({&sign, 1}) + " groups its digits, so that it means " +
           number + ", remove it from all numbers of the column" +
           (may_be_decimal ? "; if it is a decimal comma, give " + option_name("columns.decimal", ",") : "");
  }
  if (double ignored = 0; decimal == '.' && parse_tns_value(with_dot(field), ignored) == TnsValueFault::none) {
    return shown + " is not a number; if its comma is a decimal comma, give " + option_name("columns.decimal", ",");
  }
  return shown + " is not a number; correct it, or name another column with " + option_name("columns.value");
}

}  // namespace
std::string explain(FieldFault fault, std::string_view field) {
  const std::string no_quotes =
      ", or give " + option_name("columns.quotes", "none") + " if quotes are ordinary characters here";
  switch (fault) {
    case FieldFault::open_quote:
      return "starts with a quote that is not closed within 1 MiB or the file; close it, double every quote within a "
             "quoted field, or quote the whole field if it starts with an ordinary quote" +
             no_quotes;
    case FieldFault::text_after_quote:
      return "continues after its closing quote; double every quote within a quoted field" +
             std::string(field.ends_with('\\') ? ", where a backslash before it has no effect" : "") + no_quotes;
    case FieldFault::carriage_return:
      return "contains a carriage return; end lines in LF or CR LF (for example: tr '\\r' '\\n'), and put any other "
             "carriage return in quotes";
    case FieldFault::none:
      break;
  }
  return "";
}

std::vector<std::string> split_csv_row(std::string row, char separator, bool has_quotes) {
  row += '\n';
  const std::size_t size = row.size();
  row.append(text_padding, '\0');
  FieldEnds ends(separator, row.data());
  std::vector<std::string> fields;
  for (char* at = row.data();; ++at) {
    std::string_view field;
    const FieldFault fault = take_field(at, row.data() + size, separator, has_quotes, ends, field);
    if (fault != FieldFault::none) {
      throw Error(ErrorKind::invalid_argument,
                  "column " + std::to_string(fields.size() + 1) + " of the header " + explain(fault, field));
    }
    fields.emplace_back(field);
    if (*at != separator) return fields;
  }
}

void append_csv_field(std::string_view field, char separator, std::string& text) {
  const bool is_plain = !field.empty() && field.find_first_of("\"\r\n") == std::string_view::npos &&
                        field.find(separator) == std::string_view::npos && !field.starts_with("\xef\xbb\xbf");
  if (is_plain) {
    text += field;
    return;
  }
  text += '"';
  for (const char c : field) text.append(c == '"' ? 2 : 1, c);
  text += '"';
}

bool is_missing_word(std::string_view field) { return std::ranges::find(missing_words, field) != missing_words.end(); }

TnsValueFault parse_decimal(std::string_view field, char decimal, double& value) {
  if (decimal == '.') return parse_tns_value(field, value);
  if (field.find('.') != std::string_view::npos) return TnsValueFault::no_number;
  return parse_tns_value(with_dot(field), value);
}

std::string missing_remedy(bool takes_key, const std::string& example) {
  const std::string skip = "; fill it in, or leave such rows out with " + option_name("columns.missing", "skip");
  if (!takes_key) return skip;
  return skip + ", or give " + option_name("columns.missing", example) + " to make one key of all missing ones";
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
