// Explains what is wrong with fields, and takes single rows apart.
#include "io/table/csv_field.hpp"

#include "blco/error.hpp"

namespace blco {
const char* explain(FieldFault fault) {
  switch (fault) {
    case FieldFault::open_quote:
      return "starts with a quote that is not closed within 1 MiB or the file; close it, double every quote within a "
             "quoted field, or quote the whole field if it starts with an ordinary quote";
    case FieldFault::text_after_quote:
      return "continues after its closing quote; double every quote within a quoted field";
    case FieldFault::carriage_return:
      return "contains a carriage return; end lines in LF or CR LF (for example: tr '\\r' '\\n'), and put any other "
             "carriage return in quotes";
    case FieldFault::none:
      break;
  }
  return "";
}

std::vector<std::string> split_csv_row(std::string row, char separator) {
  row += '\n';
  std::vector<std::string> fields;
  for (char* at = row.data();; ++at) {
    std::string_view field;
    const FieldFault fault = take_field(at, row.data() + row.size(), separator, field);
    if (fault != FieldFault::none) {
      throw Error(ErrorKind::invalid_argument,
                  "column " + std::to_string(fields.size() + 1) + " of the header " + explain(fault));
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

}  // namespace blco
