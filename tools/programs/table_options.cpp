// Words for separators, and what to do with missing fields.
#include "tools/programs/table_options.hpp"

#include <fmt/format.h>

namespace blco::cli {
namespace {

// "tab", or the character itself.
char parse_separator(const std::string& word) {
  static const std::vector<std::pair<std::string, char>> words = {
      {"comma", ','}, {"tab", '\t'}, {"semicolon", ';'}, {"bar", '|'}, {"blank", ' '}};
  for (const auto& [name, character] : words) {
    if (word == name) return character;
  }
  if (word.size() == 1 && word != "\"" && word != "\n" && word != "\r") return word[0];
  throw Error(ErrorKind::invalid_argument,
              fmt::format("'{}' is neither comma, tab, semicolon, bar or blank, nor a single character", word));
}

void parse_missing(const std::string& word, ColumnOptions& columns) {
  columns.missing = word == "error" ? Missing::error : word == "skip" ? Missing::skip : Missing::key;
  if (columns.missing == Missing::key) columns.missing_key = word;
}

}  // namespace

void add_table_options(CommandLine& line, ColumnOptions& columns, const TableTexts& texts) {
  line.add(
      "--modes", [&](const std::string& text) { columns.modes = parse_names(text); }, texts.modes);
  line.add(
      "--value", [&](const std::string& text) { columns.value = text; }, texts.value);
  line.add("--separator", [&](const std::string& word) { columns.separator = parse_separator(word); },
           {.type = "CHAR",
            .description = "For CSV: what separates fields: comma, tab, semicolon, bar, blank, or any other character",
            .fallback = "tab for .tsv; otherwise comma, tab or semicolon, whichever the header has most"});
  line.add_choice<char>("--decimal", columns.decimal, {{".", '.'}, {",", ','}},
                        "For CSV: what stands before the decimals of values, and of numbers that become bins");
  line.add(
      "--missing", [&](const std::string& word) { parse_missing(word, columns); },
      {.type = "error|skip|KEY",
       .description = "For CSV: what to do with rows that lack a key or a value (an empty field, NA, NaN, null and the "
                      "like): stop, leave them out, or make any other word the key of all that lack one",
       .fallback = "error"});
}

}  // namespace blco::cli
