#include "io/table/table_hint.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "io/table/csv_header.hpp"
#include "io/text/quoted_text.hpp"
#include "io/text/tns_value.hpp"
#include "io/text/utf8.hpp"

namespace blco {
namespace {

bool looks_like_name(std::string_view field) {
  const auto first = static_cast<unsigned char>(field.empty() ? '\0' : field[0]);
  double value = 0;
  return parse_tns_value(field, value) == TnsValueFault::no_number &&
         (first >= 0x80 || first == '_' || std::isalpha(first) != 0);
}

}  // namespace

std::optional<std::string> explain_table_header(std::string_view line, const std::filesystem::path& file) {
  std::vector<std::string> names;
  try {
    const auto header = find_csv_header(line, /*is_whole=*/true, {}, file, 0);
    if (header) names = header->names;
  } catch (const Error&) {
    return std::nullopt;
  }
  const auto count = static_cast<std::size_t>(std::ranges::count_if(names, looks_like_name));
  const bool is_tab = line.find_first_of(",;") == std::string_view::npos;  // coordinates may have tabs between them too
  if (names.size() < 2 || count < (is_tab ? names.size() : 1)) return std::nullopt;
  if (line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
  return quoted_for_message(line) + " looks like the header of a table; name the columns that become modes with " +
         option_name("columns.modes") + ", and the column of values, if there is one, with " +
         option_name("columns.value") +
         (is_tab ? ", or give " + option_name("skip_lines", "1") + " if coordinates follow" : "") +
         "; its columns are: " + list_columns(names);
}

}  // namespace blco
