// The row of a delimited text that names its columns, the choice of columns, and the headers of all files of a table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/table/csv_block.hpp"
#include "io/text/text_preamble.hpp"

namespace blco {

struct CsvHeader {
  std::vector<std::string> names;
  char separator = ',';
  bool has_quotes = true;   // as CsvDialect has it
  std::size_t bytes = 0;    // up to the end of the header row, including a byte order mark and blank lines before it
  std::uint64_t lines = 0;  // likewise
  std::size_t bytes_before = 0;    // up to the first line before it that is not empty, but may have blanks
  std::uint64_t lines_before = 0;  // likewise
};

inline constexpr std::array guessed_separators = {',', '\t', ';'};

struct CsvDialect {
  char separator = 0;      // 0: as find_csv_header tells
  char decimal = '.';      // of values: a dot or a comma
  bool has_quotes = true;  // false: a quote is an ordinary character, and every line a row
};

// Finds the first row that is not blank at the start of `text`; returns nothing if more text is needed, unless
// `is_whole` says that there is no more. Without a separator it is a tab if the file's name ends in .tsv, else the most
// frequent of comma, tab and semicolon outside of quotes, among those that leave nothing behind closing quotes, or
// comma if there is none; where the comma is the decimal sign, it comes last. Throws Error{invalid_argument} naming
// file and line.
std::optional<CsvHeader> find_csv_header(std::string_view text, bool is_whole, const CsvDialect& dialect,
                                         const std::filesystem::path& file, std::uint64_t lines_before);

struct CsvColumns {
  std::vector<std::string> modes;       // as parse_mode_columns() takes them
  std::string value;                    // empty: none, every row counts 1
  std::vector<std::string> names = {};  // of the columns of files without a header; empty: files have one
  std::string model = {};               // whose modes are asked for where the caller names none
};

// Throws Error{invalid_argument} for a column that is missing, occurs more than once, or is asked for twice in the same
// way, and as parse_mode_columns() does; the message lists the columns.
CsvForm make_csv_form(const CsvHeader& header, const CsvColumns& columns, char decimal, const MissingFields& missing,
                      const std::filesystem::path& file);

// `user, "day of week", item`: names with blanks, commas or quotes are quoted as in CSV, and as the list of modes takes
// them.
std::string list_columns(const std::vector<std::string>& names);

// "; its columns are: user, item", and what to do where they look like the fields of a row.
std::string explain_columns(const std::vector<std::string>& names);

// Tells a header where coordinates were expected: what a line is that names columns, and what to do: a part of a
// message. Returns nothing for any other line.
std::optional<std::string> explain_table_header(std::string_view line, const std::filesystem::path& file);

// The headers of all files: their columns, and one reading of each mode's fields. The cutter of text asks for the
// headers in the order of the files.
class TableHeaders {
 public:
  TableHeaders(std::vector<std::filesystem::path> files, CsvColumns columns, const CsvDialect& dialect,
               MissingFields missing, bool keeps_places);

  // A HeaderFinder. Throws as find_csv_header and make_csv_form do.
  std::optional<TextPreamble> find(std::string_view text, bool is_whole, std::size_t file, std::uint64_t lines_before);

  // Of a file whose header has been found; the reference stays valid.
  const CsvForm& form(std::size_t file) const { return forms_[file]; }
  bool empty() const { return forms_.empty(); }

  // Of the fields of each mode, in all files.
  void set_readings(std::vector<ComputedForm> readings);

 private:
  void check_separator(std::string_view text, bool is_whole, std::size_t file, std::uint64_t lines_before) const;
  CsvHeader with_names(CsvHeader header, std::size_t file) const;
  CsvForm make_form(const CsvHeader& header, std::size_t file) const;
  void take_readings(CsvForm& form, std::size_t file) const;
  std::optional<std::pair<CsvHeader, CsvForm>> find_other(std::string_view text, bool is_whole, std::size_t file,
                                                          std::uint64_t lines_before) const;

  std::vector<std::filesystem::path> files_;
  CsvColumns columns_;
  CsvDialect dialect_;
  MissingFields missing_;
  bool keeps_places_;
  std::deque<CsvForm> forms_;
  std::vector<ComputedForm> readings_;  // empty: as each header gives them
};

}  // namespace blco
