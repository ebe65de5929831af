// Compression, reordering, and how a table is written.
#include "tools/programs/ingest_options.hpp"

#include <fmt/format.h>

#include <tuple>

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
  refuse(fmt::format("'{}' is neither comma, tab, semicolon, bar or blank, nor a single character", word));
}

}  // namespace

void add_container_options(CommandLine& line, IngestOptions& ingest) {
  line.add_path("--tmp", ingest.temporary_directory,
                {"DIR", "Folder for the temporary files of entries that do not fit in --memory", "the folder of OUT"});
  line.add_choice<Reorder>(
      "--reorder", ingest.reorder, {{"none", Reorder::none}, {"frequency", Reorder::frequency}},
      "frequency renumbers the indices of each mode inside the container, most frequent first; this usually makes the "
      "container smaller but takes longer, and outputs have the original indices");
  line.add(
      "--orders", ingest.orders, parse_names,
      {"none|auto|all|MODES",
       "Modes that get a copy of all nonzeros in an order of their own, beside the natural order, by name or number "
       "from 0: MODES such as user,day; all of them; or auto, those for which the order promises to pay, by counts of "
       "the nonzeros. A copy is about as large as the natural order. On the CPU, fits of the methods als and apr that "
       "have little memory are faster with copies",
       "none"});
  line.add("--compression",
           [&](const std::string& word) {
             std::tie(ingest.zstd_level, ingest.zstd_saving_percent) = parse_compression(word);
           },
           {"CODEC",
            "Further compression of chunks by zstd: none; auto, where it saves 45%; fast, where it saves 10%; small, "
            "harder and wherever it saves anything, which takes longer to write; or zstd:N, like fast with N from 1 to "
            "19. Reading what is compressed takes a core about ten times as long, so fast and small pay on disks that "
            "deliver less than 0.1 GB/s per core",
            "auto"});
  line.add_whole("--chunk-nnz", ingest.chunk_nnz, 1,
                 {"N", "Nonzeros per chunk, the unit of reading and writing; smaller chunks require less memory"});
}

void add_table_options(CommandLine& line, ColumnOptions& columns, const OptionText& modes, const OptionText& value) {
  line.add("--modes", columns.modes, parse_names, modes);
  line.add(
      "--value", [&](const std::string& word) { columns.value = word; }, value);
  line.add("--separator", columns.separator, parse_separator,
           {"CHAR", "For CSV: what separates fields: comma, tab, semicolon, bar, blank, or any other character",
            "tab for .tsv; otherwise comma, tab or semicolon, whichever the header has most"});
  line.add_choice<char>("--decimal", columns.decimal, {{".", '.'}, {",", ','}},
                        "For CSV: what stands before the decimals of values, and of numbers that become bins");
  line.add_choice<Quotes>("--quotes", columns.quotes, {{"csv", Quotes::csv}, {"none", Quotes::none}},
                          "For CSV: csv takes a field in quotes as one, with separators and line breaks; none takes "
                          "quotes as ordinary characters, and every line as a row");
  line.add("--missing",
           [&](const std::string& word) {
             columns.missing = word == "error" ? Missing::error : word == "skip" ? Missing::skip : Missing::key;
             if (columns.missing == Missing::key) columns.missing_key = word;
           },
           {"error|skip|KEY",
            "For CSV: what to do with rows that lack a key or a value (an empty field, NA, NaN, null and the like): "
            "stop, leave them out, or make any other word the key of all that lack one",
            "error"});
  line.add("--null", columns.null_words, parse_names,
           {"WORDS", "For CSV: further fields that mean a missing one, such as '\\N' or '?'"});
  line.add(
      "--columns", columns.names, parse_names,
      {"NAMES",
       "For CSV without a line of column names: the names of all its columns, in their order; every line is a row"});
}

}  // namespace blco::cli
