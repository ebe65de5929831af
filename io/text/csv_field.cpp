// Quotes fields of tables.
#include "io/text/csv_field.hpp"

namespace blco {

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

}  // namespace blco
