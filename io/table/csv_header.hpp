// The row of a delimited text that names its columns, and the choice of columns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/table/csv_block.hpp"

namespace blco {

struct CsvHeader {
  std::vector<std::string> names;
  char separator = ',';
  std::size_t bytes = 0;    // up to the end of the header row, including a byte order mark and blank lines before it
  std::uint64_t lines = 0;  // likewise
};

inline constexpr std::array guessed_separators = {',', '\t', ';'};

struct CsvDialect {
  char separator = 0;  // 0: as find_csv_header tells
  char decimal = '.';  // of values: a dot or a comma
};

// Finds the first row that is not blank at the start of `text`; returns nothing if more text is needed, unless
// `is_whole` says that there is no more. Without a separator it is a tab if the file's name ends in .tsv, else the most
// frequent of comma, tab and semicolon outside of quotes, among those that leave nothing behind closing quotes, or
// comma if there is none; where the comma is the decimal sign, it comes last. Throws Error{invalid_argument} naming
// file and line.
std::optional<CsvHeader> find_csv_header(std::string_view text, bool is_whole, const CsvDialect& dialect,
                                         const std::filesystem::path& file, std::uint64_t lines_before);

struct CsvColumns {
  std::vector<std::string> modes;  // as parse_mode_columns() takes them
  std::string value;               // empty: none, every row counts 1
};

// Throws Error{invalid_argument} for a column that is missing, occurs more than once, or is asked for twice in the same
// way, and as parse_mode_columns() does; the message lists the columns.
CsvForm make_csv_form(const CsvHeader& header, const CsvColumns& columns, char decimal, const MissingFields& missing,
                      const std::filesystem::path& file);

// `user, "day of week", item`: names with blanks, commas or quotes are quoted as in CSV, and as the list of modes takes
// them.
std::string list_columns(const std::vector<std::string>& names);

}  // namespace blco
