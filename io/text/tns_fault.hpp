// Explains why a line of FROSTT text is refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace blco {

struct TnsPlace {
  std::filesystem::path file;
  std::uint64_t line = 0;      // from 1
  bool first_of_file = false;  // no earlier line of this file held an entry
  int index_base = 1;
  bool is_base_fixed = false;  // by the file's format
  int order = 0;               // of the lines before; 0: there are none
  std::string order_from;      // what decided the order, "line 1 of a.tns"
  bool has_values = true;
};

// Message for a refused line: place, reason, remedy.
std::string explain_tns_line(std::string_view line, const TnsPlace& place);

}  // namespace blco
