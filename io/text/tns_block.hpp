// Parses one block of FROSTT text into a batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "io/coordinate_reader.hpp"

namespace blco {

inline constexpr std::size_t max_tns_line_bytes = std::size_t{1} << 20;

// A coordinate of 2^64-1 would need a mode of length 2^64; it is also what unsigned subtraction makes of 0 at base 1.
inline constexpr std::uint64_t refused_tns_coordinate = std::numeric_limits<std::uint64_t>::max();

struct TnsLine {
  std::uint64_t number = 0;  // within the block, from 0
  std::string_view text;     // into the block, without its end of line
};

struct TnsBlock {
  CoordinateBatch batch;          // exactly as large as needed; empty if there are only comments
  std::uint64_t line_count = 0;   // all lines of the block
  std::optional<TnsLine> first;   // the first line that is neither empty nor a comment
  std::optional<TnsLine> failed;  // the first unacceptable line; the batch is then unspecified
};

struct TnsForm {
  int order = 0;  // 0: the first data line decides
  int index_base = 1;
  bool has_values = true;  // false: every value is 1, and `order` is known
};

// Requires: `text` is empty or ends in a newline, and text_padding readable bytes follow it.
TnsBlock parse_tns_block(std::string_view text, const TnsForm& form);

}  // namespace blco
