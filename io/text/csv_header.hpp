// The line of a delimited text that names its columns, and the choice of columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/text/csv_block.hpp"

namespace blco {

struct CsvHeader {
  std::vector<std::string> names;
  char separator = ',';
  std::size_t bytes = 0;    // up to the end of the header line, including a byte order mark and blank lines before it
  std::uint64_t lines = 0;  // likewise
};

// Finds the first line that is not blank; returns nothing if `text`, which ends in a newline, has none. `separator` 0
// means: tab if the file's name ends in .tsv, else the most frequent of comma, tab and semicolon outside of quotes, or
// comma if there is none. Throws Error{invalid_argument} naming file and line.
std::optional<CsvHeader> find_csv_header(std::string_view text, bool is_first_text, char separator,
                                         const std::filesystem::path& file, std::uint64_t lines_before);

struct CsvColumns {
  std::vector<std::string> modes;  // as parse_mode_columns() takes them
  std::string value;               // empty: none, every row counts 1
  char decimal = '.';              // of the numbers that become bins
  std::string missing_key = {};    // a field of a computed mode that has a label of its own, the last; empty: none
};

// Throws Error{invalid_argument} for a column that is missing, occurs more than once, or is asked for twice in the same
// way, and as parse_mode_columns() does; the message lists the columns.
CsvForm make_csv_form(const CsvHeader& header, const CsvColumns& columns, const std::filesystem::path& file);

// "user, item, day", as columns.modes takes them.
std::string list_columns(const std::vector<std::string>& names);

}  // namespace blco
