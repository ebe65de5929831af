// Parses one block of delimited text into keys, numbered within the block, and values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/coordinate_reader.hpp"
#include "io/table/computed_field.hpp"

namespace blco {

// What becomes of rows with missing fields, as is_missing tells them, in the columns of modes and values.
struct MissingFields {
  bool are_accepted = false;  // false: such a row is refused
  std::string key;            // in place of a missing key; empty: its row is left out, as with a missing value
  std::vector<std::string> words = {};  // that mean a missing field, beside those of is_missing
};

// The meaning of each column; the same for all blocks of a file.
struct CsvForm {
  static constexpr int unused = -1;
  static constexpr int value = -2;

  char separator = ',';
  bool has_quotes = true;          // false: a quote is an ordinary character
  std::vector<std::string> names;  // of the columns
  std::vector<int> roles;          // per column: its mode, or unused, or value
  int order = 0;
  char decimal = '.';
  MissingFields missing;
  std::vector<ComputedForm> readings;   // per mode: how its fields become keys
  std::vector<int> same_column;         // per mode: the next mode of its column, or unused
  std::vector<std::string> mode_names;  // that the columns give
  bool keeps_places = false;            // blocks tell where their rows begin
};

struct CsvKey {
  static constexpr std::uint32_t missing = ~std::uint32_t{0};

  std::uint32_t begin = 0;  // in the block; `missing`: the key is CsvForm::missing.key
  std::uint32_t length = 0;
  std::uint32_t hash = 0;
};

struct CsvFault {
  std::uint64_t line = 0;  // within the block, from 0; of a row that has several, its first
  std::string what;
};

// Quoted fields with line breaks that are keys, or look as if rows ended and began in them.
struct CsvSpans {
  std::uint64_t count = 0;
  std::uint64_t line = 0;    // of the first, within the block, from 0
  std::uint64_t breaks = 0;  // its line breaks
  std::size_t column = 0;
};

struct CsvBlock {
  CoordinateBatch batch;  // `narrow` numbers `keys` or `words`; no spare capacity; no `upper`
  // Per mode, the block's keys by first appearance, distinct but for a missing one.
  std::vector<std::vector<CsvKey>> keys;
  std::vector<std::vector<std::uint64_t>> words;  // the same of computed modes, whose `keys` are empty
  std::vector<std::uint32_t> row_begins;          // in the text, per entry; empty unless CsvForm::keeps_places
  std::vector<TimeSpan> times;                    // per mode, of its times
  CsvSpans spans;
  std::vector<std::uint64_t> skipped;  // rows left out: per mode, and then for the value, the first missing of a row
  std::uint64_t line_count = 0;
  std::optional<CsvFault> fault;  // at the first unacceptable line; the rest is then unspecified
};

// Unquotes fields that contain quotes in place. Requires: `text` is below 4 GiB - 1, starts with a row, is empty or
// ends in a newline, and text_padding readable bytes follow it. Refuses a row of more than max_tns_line_bytes, of which
// the text may hold the beginning alone.
CsvBlock parse_csv_block(std::span<char> text, const CsvForm& form);

}  // namespace blco
