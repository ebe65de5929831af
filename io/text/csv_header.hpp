// The line of a delimited text that names its columns, and what is asked of it.
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
  std::size_t bytes = 0;    // up to the end of its line, a byte order mark and blank lines before it included
  std::uint64_t lines = 0;  // likewise
};

// The first line that is not blank; nothing where there is none in `text`, which ends in a newline. `separator` 0: a
// tab where the file's name ends in .tsv, else that of comma, tab and semicolon which is most frequent outside of
// quotes, and a comma where there is none. Throws Error{invalid_argument} naming file and line.
std::optional<CsvHeader> find_csv_header(std::string_view text, bool is_first_text, char separator,
                                         const std::filesystem::path& file, std::uint64_t lines_before);

struct CsvColumns {
  std::vector<std::string> modes;
  std::string value;  // empty: there is none, and every row counts 1
};

// Throws Error{invalid_argument} for columns that the header does not have, or has more than once, and for those asked
// for twice; it lists what there is.
CsvForm make_csv_form(const CsvHeader& header, const CsvColumns& columns, const std::filesystem::path& file);

// "user, item, day", as columns.modes takes them.
std::string list_columns(const std::vector<std::string>& names);

}  // namespace blco
