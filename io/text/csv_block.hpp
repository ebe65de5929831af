// Parses one block of delimited text into keys, numbered within the block, and values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/coordinate_reader.hpp"
#include "io/text/computed_field.hpp"

namespace blco {

// The meaning of each column; the same for all blocks of an input.
struct CsvForm {
  static constexpr int unused = -1;
  static constexpr int value = -2;

  char separator = ',';
  std::vector<std::string> names;  // of the columns
  std::vector<int> roles;          // per column: its mode, or unused, or value
  int order = 0;
  std::vector<ComputedForm> readings;   // per mode: how its fields become keys
  std::vector<int> same_column;         // per mode: the next mode of its column, or unused
  std::vector<std::string> mode_names;  // that the columns give
};

struct CsvKey {
  std::uint32_t begin = 0;  // in the block
  std::uint32_t length = 0;
  std::uint32_t hash = 0;
};

struct CsvFault {
  std::uint64_t line = 0;  // within the block, from 0
  std::string what;
};

struct CsvBlock {
  CoordinateBatch batch;                          // `narrow` numbers `keys` or `words`; no spare capacity; no `upper`
  std::vector<std::vector<CsvKey>> keys;          // per mode, the block's distinct keys by first appearance
  std::vector<std::vector<std::uint64_t>> words;  // the same of computed modes, whose `keys` are empty
  std::uint64_t line_count = 0;
  std::optional<CsvFault> fault;  // at the first unacceptable line; the rest is then unspecified
};

// Unquotes fields that contain quotes in place. Requires: `text` is below 4 GiB, and empty or ends in a newline.
CsvBlock parse_csv_block(std::span<char> text, const CsvForm& form);

// The unquoted fields of one line, given without its end. Throws Error{invalid_argument} without a place.
std::vector<std::string> split_csv_line(std::string line, char separator);

}  // namespace blco
