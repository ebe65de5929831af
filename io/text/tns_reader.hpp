// Reads FROSTT text (.tns) and its relatives, plain or compressed by gzip or zstd, in parallel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blco/executor.hpp"
#include "io/coordinate_reader.hpp"
#include "io/text/text_source.hpp"

namespace blco {

// What a first line is that names the columns of a table, and what to do; nothing if it does not.
using ExplainTable =
    std::function<std::optional<std::string>(std::string_view line, const std::filesystem::path& file)>;

struct TnsOptions {
  int index_base = 1;                                // smallest coordinate in the file: 0 or 1
  std::uint64_t skip_lines = 0;                      // header lines to skip at the start of every file
  std::size_t block_bytes = std::size_t{512} << 10;  // approximate text per batch
  ExplainTable explain_table = {};                   // for the message on a table; may be empty
  int order = 0;                                     // that entries must have; 0: the first line decides
  std::string order_from = {};                       // what demands that order, for messages
  std::uint64_t window_bytes = most_window_bytes;    // as open_text_source has it
  bool has_values = true;  // false: lines hold coordinates alone, `order` of them, and every value is 1
};

// Memory of a reader.
std::uint64_t tns_reader_bytes(std::uint64_t block_bytes, int threads);

// Recognises the headers that find_preamble knows if skip_lines is 0; a symmetric matrix yields its implied entries
// too. Otherwise one nonzero per line: its coordinates, then a value, separated by blanks or tabs. '#' starts a comment
// line; empty lines, trailing blanks and CR LF are accepted. The first bytes tell the compression, whatever the name.
// Several files of one order are one tensor, in the order given. Batches are cut at the same lines for any number of
// threads.
// Throws Error: invalid_argument naming file and line, from 1 with skipped lines counted (headers that disagree with
// each other or with the number of lines that follow; another number of fields than the first line; a coordinate that
// is not an integer, below the base or beyond 64 bits; a value that is not a finite number or overflows), io (cannot be
// read), corrupt (a damaged or truncated compressed stream).
// Memory: tns_reader_bytes(), for 8 blocks of text and the batches of 4 blocks per thread of `executor`; freed at the
// end of the input. A batch is at most four times its text, for a symmetric matrix eight times. `executor` must outlive
// the reader.
std::unique_ptr<CoordinateReader> open_tns(std::vector<std::filesystem::path> inputs, const TnsOptions& options,
                                           Executor& executor);

}  // namespace blco
