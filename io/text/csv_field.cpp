// Takes fields apart: the closing quote by memchr, the end of other fields byte by byte.
#include "io/text/csv_field.hpp"

#include <algorithm>
#include <cstring>

#include "blco/error.hpp"

namespace blco {
namespace {

// `at` is behind the opening quote.
FieldFault take_quoted(char*& at, const char* end, std::string_view& field) {
  char* const begin = at;
  char* to = begin;
  for (;;) {
    auto* const quote = static_cast<char*>(std::memchr(at, '"', static_cast<std::size_t>(end - at)));
    if (quote == nullptr) return FieldFault::open_quote;
    if (to != at) std::memmove(to, at, static_cast<std::size_t>(quote - at));
    to += quote - at;
    at = quote + 1;
    if (*at != '"') break;
    *to++ = *at++;
  }
  field = {begin, static_cast<std::size_t>(to - begin)};
  std::fill(to, at, '"');  // no line breaks are left there to be counted again
  return FieldFault::none;
}

}  // namespace

FieldFault take_field(char*& at, const char* end, char separator, std::string_view& field) {
  if (*at != '"') {
    const char* const begin = at;
    while (*at != separator && *at != '\n' && *at != '\r') ++at;
    field = {begin, static_cast<std::size_t>(at - begin)};
  } else if (take_quoted(++at, end, field) != FieldFault::none) {
    return FieldFault::open_quote;
  }
  if (*at == separator || *at == '\n' || (*at == '\r' && at[1] == '\n')) return FieldFault::none;
  return *at == '\r' ? FieldFault::carriage_return : FieldFault::text_after_quote;
}

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
