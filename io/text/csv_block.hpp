// Parses one block of delimited text into keys, numbered within the block, and values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/coordinate_reader.hpp"

namespace blco {

// Which column is what; the same for all blocks of an input.
struct CsvForm {
  static constexpr int unused = -1;
  static constexpr int value = -2;

  char separator = ',';
  std::vector<std::string> names;  // of the columns
  std::vector<int> roles;          // per column: the mode that it is, or unused, or value
  int order = 0;
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
  CoordinateBatch batch;                  // narrow: numbers into `keys`; exactly as large as it need be; no `upper`
  std::vector<std::vector<CsvKey>> keys;  // per mode, the block's distinct keys by first appearance
  std::uint64_t line_count = 0;
  std::optional<CsvFault> fault;  // of the first line that is not acceptable; the rest is then unspecified
};

// `text` is empty or ends in a newline, and is below 4 GiB. Quoted fields with quotes in them are unquoted in place.
CsvBlock parse_csv_block(std::span<char> text, const CsvForm& form);

// The fields of one line without its end, unquoted. Throws Error{invalid_argument} with what is wrong, without a place.
std::vector<std::string> split_csv_line(std::string line, char separator);

}  // namespace blco
