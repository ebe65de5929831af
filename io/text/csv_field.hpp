// Writes a field of a table.
#pragma once

#include <string>
#include <string_view>

namespace blco {

// Appends a field to `text`, in quotes (RFC 4180) if it would otherwise read back differently.
void append_csv_field(std::string_view field, char separator, std::string& text);

}  // namespace blco
