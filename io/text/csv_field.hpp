// Fields of delimited text: RFC 4180, and unquoted fields that contain quotes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace blco {

// Why parsing of a field stopped.
enum class FieldFault : std::uint8_t { none, open_quote, text_after_quote, carriage_return };

// Moves `at` from the start of a field to the separator or line end after it, and unquotes the field in place, without
// changing how many line breaks lie before its end. Requires: the text ends in a newline, just before `end`.
FieldFault take_field(char*& at, const char* end, char separator, std::string_view& field);

// What is wrong, and what to do: "starts with a quote that ...".
const char* explain(FieldFault fault);

// The unquoted fields of one row, given without its end. Throws Error{invalid_argument} without a place.
std::vector<std::string> split_csv_row(std::string row, char separator);

// Appends a field to `text`, in quotes if it would otherwise read back differently.
void append_csv_field(std::string_view field, char separator, std::string& text);

}  // namespace blco
