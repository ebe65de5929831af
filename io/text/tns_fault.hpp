// Explains why a line of FROSTT text is refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace blco {

// What a first line is that names the columns of a table, and what to do; nothing if it does not.
using ExplainTable =
    std::function<std::optional<std::string>(std::string_view line, const std::filesystem::path& file)>;

struct TnsPlace {
  std::filesystem::path file;
  std::uint64_t line = 0;      // from 1
  bool first_of_file = false;  // no earlier line of this file held an entry
  int index_base = 1;
  bool is_base_fixed = false;  // by the file's format
  int order = 0;               // of the lines before; 0: there are none
  std::string order_from;      // what decided the order, "line 1 of a.tns"
  bool has_values = true;
  ExplainTable explain_table = {};  // may be empty
};

// Message for a refused line: place, reason, remedy.
std::string explain_tns_line(std::string_view line, const TnsPlace& place);

}  // namespace blco
