// Compares first bytes.
#include "io/text/foreign_format.hpp"

#include <algorithm>
#include <array>

#include "blco/option_name.hpp"

namespace blco {
namespace {

using namespace std::string_view_literals;

std::string by_pandas(const std::string& reader) {
  return "python3 -c \"import pandas; pandas." + reader + "('FILE').to_csv('FILE.csv', index=False)\"";
}

struct ForeignFormat {
  std::string_view first_bytes;
  const char* name;
  std::string command;  // makes a table of FILE
};

const std::array foreign_formats = {
    ForeignFormat{"PAR1"sv, "Parquet", by_pandas("read_parquet")},
    ForeignFormat{"ARROW1"sv, "Arrow or Feather", by_pandas("read_feather")},
    ForeignFormat{"FEA1"sv, "Feather", by_pandas("read_feather")},
    ForeignFormat{"ORC"sv, "ORC", by_pandas("read_orc")},
    ForeignFormat{"Obj\x01"sv, "Avro",
                  "python3 -c \"import fastavro, pandas; pandas.DataFrame(fastavro.reader(open('FILE', 'rb')))"
                  ".to_csv('FILE.csv', index=False)\""},
    ForeignFormat{"SQLite format 3\0"sv, "an SQLite database",
                  "sqlite3 -header -csv FILE 'SELECT * FROM the_table' >FILE.csv"},
    ForeignFormat{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv, "an old Excel file", by_pandas("read_excel")},
};

std::string explain_table(const char* name, const std::string& command) {
  return std::string("this is ") + name + ", which is not read; make CSV of it (for example: " + command +
         ") and name its columns with " + option_name("columns.modes");
}

constexpr std::size_t max_text_bytes = 64;

// Without control characters, up to the end of the first line.
bool is_text(std::string_view head) {
  head = head.substr(0, head.find_first_of("\r\n"));
  return std::ranges::none_of(head, [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == '\x7f'; });
}

// Objects, or a list of objects or lists. A name of a column would begin so in a very odd table alone.
bool is_json(std::string_view head) {
  if (head.empty() || (head[0] != '{' && head[0] != '[')) return false;
  const std::size_t next = head.find_first_not_of(" \t\r\n", 1);
  return next == std::string_view::npos ||
         (head[0] == '{' ? "\"}"sv : "{[\"]"sv).find(head[next]) != std::string_view::npos;
}

}  // namespace

std::optional<std::string> explain_foreign_format(std::string_view head) {
  for (const ForeignFormat& format : foreign_formats) {
    // A column may be called ORCID; in a file of these formats bytes that are no text follow.
    if (head.starts_with(format.first_bytes) && !is_text(head.substr(0, max_text_bytes))) {
      return explain_table(format.name, format.command);
    }
  }
  if (head.starts_with("\x93NUMPY")) {
    return "this is a single NumPy array; save the coordinates and values as numpy.savez('FILE.npz', coords=..., "
           "values=...), with coords of shape (modes, values)";
  }
  if (head.starts_with("PK\x03\x04") && head.find("[Content_Types].xml") != std::string_view::npos) {
    return explain_table("an Excel file", by_pandas("read_excel"));
  }
  if (is_json(head)) {
    return explain_table("JSON", head[0] == '{'
                                     ? "(echo user,item; jq -r '[.user, .item] | @csv' FILE) >FILE.csv"
                                     : "(echo user,item; jq -r '.[] | [.user, .item] | @csv' FILE) >FILE.csv");
  }
  if (head.starts_with("\x89HDF")) return "this is an HDF5 file, not text; if it is a container, use it as it is";
  return std::nullopt;
}

}  // namespace blco
