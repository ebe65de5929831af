// Tells the header of a table where coordinates were expected.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace blco {

// What a line is that names columns, and what to do: a part of a message. Returns nothing for any other line.
std::optional<std::string> explain_table_header(std::string_view line, const std::filesystem::path& file);

}  // namespace blco
