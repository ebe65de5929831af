// Explains why a line of FROSTT text is refused: slow and exact, for one line.
#include "io/text/tns_fault.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "blco/error.hpp"
#include "blco/layout.hpp"
#include "blco/option_name.hpp"
#include "io/text/foreign_format.hpp"
#include "io/text/split_fields.hpp"
#include "io/text/tns_block.hpp"
#include "io/text/tns_value.hpp"
#include "io/text/utf8.hpp"

namespace blco {
namespace {

// For a message: short, and printable whatever the input contains.
std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string shown(text.substr(0, longest));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return "'" + shown + (text.size() > longest ? "...'" : "'");
}

bool all_digits(std::string_view field) {
  return !field.empty() && field.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_no_number(std::string_view field) {
  double value = 0;
  return parse_tns_value(field, value) == TnsValueFault::no_number;
}

// Returns an empty text if the coordinate is acceptable.
std::string coordinate_fault(std::string_view field, const TnsPlace& place) {
  const int index_base = place.index_base;
  if (all_digits(field)) {
    std::uint64_t value = 0;
    const auto result = std::from_chars(field.data(), field.data() + field.size(), value);
    if (result.ec == std::errc{} && value == 0 && index_base == 1) {
      return std::string("is 0, but coordinates start at 1; ") +
             (place.is_base_fixed ? "correct the line"
                                  : "use " + option_name("index_base", "0") + " if they start at 0");
    }
    const bool good =
        result.ec == std::errc{} && value - static_cast<std::uint64_t>(index_base) != refused_tns_coordinate;
    return good ? ""
                : "is too large: the length of a mode must be below 2^64; renumber its coordinates from " +
                      std::to_string(index_base);
  }
  if (field.starts_with('-') && all_digits(field.substr(1)))
    return "is negative; coordinates start at " + std::to_string(index_base);
  double value = 0;
  if (field.starts_with('+') || parse_tns_value(field, value) == TnsValueFault::none) {
    return "is not a plain integer; write coordinates in digits only";
  }
  return "is not a number; coordinates are integers, so replace the names of this mode by numbers";
}

std::string value_fault(std::string_view field) {
  double value = 0;
  switch (parse_tns_value(field, value)) {
    case TnsValueFault::none:
      return "";
    case TnsValueFault::not_finite:
      return "is not finite; replace it by a finite number, or remove the line";
    case TnsValueFault::overflow:
      return "is too large for a double; scale the values down";
    case TnsValueFault::no_number:
      break;
  }
  return "is not a number; correct or remove the line";
}

std::string count_fault(std::size_t count, const TnsPlace& place) {
  if (const int fields = place.order + (place.has_values ? 1 : 0);
      place.order > 0 && count != static_cast<std::size_t>(fields)) {
    return std::to_string(count) + (count == 1 ? " field" : " fields") + ", but " + place.order_from + " has " +
           std::to_string(fields) + "; every line must have the same number of coordinates" +
           (place.has_values ? ", then a value" : ", and no value");
  }
  if (count < 2) return "1 field; a line must have coordinates and a value, separated by blanks or tabs";
  if (count > max_order + 1) {
    return std::to_string(count - 1) + " coordinates; a tensor has at most " + std::to_string(max_order) +
           " modes, so leave some out or merge them";
  }
  return "";
}

std::string field_fault(const std::vector<std::string_view>& fields, const TnsPlace& place) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const bool is_value = place.has_values && i + 1 == fields.size();
    const std::string fault = is_value ? value_fault(fields[i]) : coordinate_fault(fields[i], place);
    if (fault.empty()) continue;
    const std::string given = quoted(fields[i]);
    return is_value ? "the value " + given + " " + fault
                    : "coordinate " + std::to_string(i + 1) + ", " + given + ", " + fault;
  }
  return "";
}

bool is_control(char c) { return (c >= 0 && c < ' ' && c != '\t' && c != '\r') || c == '\x7f'; }

std::string control_fault(std::string_view line) {
  if (line.starts_with("\xff\xfe") || line.starts_with("\xfe\xff")) {
    return "the file is UTF-16; save it as UTF-8 (for example: iconv -f UTF-16 -t UTF-8)";
  }
  const auto at = std::find_if(line.begin(), line.end(), is_control);
  return "byte " + std::to_string(at - line.begin() + 1) + " of the line is a control character (" +
         std::to_string(static_cast<int>(*at)) +
         "), so this is not text; give text, plain or compressed with gzip or zstd";
}

std::string fault_of(std::string_view line, const TnsPlace& place) {
  if (line.size() >= max_tns_line_bytes) return "the line is longer than 1 MiB; is this FROSTT text?";
  const bool is_first = place.line == 1;
  if (is_first || (place.first_of_file && place.order == 0)) {
    if (auto foreign = explain_foreign_format(line)) return *foreign;
    if (place.explain_table) {
      if (auto table = place.explain_table(line, place.file)) return *table;
    }
  }
  if (is_first && line.starts_with(byte_order_mark)) {
    return "the file starts with a UTF-8 byte order mark; remove it (for example: sed -i '1s/^\\xef\\xbb\\xbf//' FILE)";
  }
  if (is_first && std::any_of(line.begin(), line.end(), is_control)) return control_fault(line);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.find('\r') != std::string_view::npos) {
    return "a carriage return within the line; end lines in LF or CR LF (for example: tr '\\r' '\\n')";
  }
  for (const auto& [separator, name] : {std::pair(',', "commas"), std::pair(';', "semicolons")}) {
    if (line.find(separator) == std::string_view::npos || (separator == ';' && !is_first)) continue;
    return quoted(line) + " has " + name +
           ", so this looks like CSV; separate fields by blanks or tabs (for example: tr '" + separator + "' ' ')";
  }
  const std::vector<std::string_view> fields = split_fields(line);
  std::string fault = count_fault(fields.size(), place);
  if (fault.empty() || (place.order == 0 && std::any_of(fields.begin(), fields.end(), is_no_number))) {
    fault = field_fault(fields, place);
  }
  if (place.first_of_file && std::all_of(fields.begin(), fields.end(), is_no_number)) {
    fault += "; use " + option_name("skip_lines", std::to_string(place.line)) + " if the file starts with a header";
  }
  return fault.empty() ? quoted(line) + " does not hold coordinates and a value" : fault;
}

}  // namespace

std::string explain_tns_line(std::string_view line, const TnsPlace& place) {
  return "line " + std::to_string(place.line) + " of " + place.file.string() + ": " + fault_of(line, place);
}

}  // namespace blco
