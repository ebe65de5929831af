// Reads FROSTT text (.tns) and its relatives, plain or compressed by gzip or zstd, in parallel and strictly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "blco/executor.hpp"
#include "io/coordinate_reader.hpp"

namespace blco {

struct TnsOptions {
  int index_base = 1;                                // 0 or 1: the smallest coordinate in the file
  std::uint64_t skip_lines = 0;                      // header lines to leave out at the start of every file
  std::size_t block_bytes = std::size_t{512} << 10;  // text that becomes one batch, about
};

// Memory of a reader.
std::uint64_t tns_reader_bytes(std::uint64_t block_bytes, int threads);

// The headers that find_preamble knows are recognised where skip_lines is 0; a symmetric matrix gives its implied
// entries too. Else one nonzero a line: order coordinates, then a value, apart by blanks or tabs; '#' starts a
// comment line; empty lines, trailing blanks and CR LF are accepted. The compression is recognised by the first
// bytes, whatever the name. Several files are one tensor, in the order given, of one order. Refused with
// Error{invalid_argument} naming file and line (from 1, skipped lines counted): headers that disagree with each
// other or with the number of lines that follow, another number of fields than the first line, a coordinate that is
// no integer, below the base or beyond 64 bits, a value that is no number, is not finite or overflows. Refused with
// Error{io}: a file that cannot be read; with Error{corrupt}: a damaged or truncated compressed stream. Memory:
// tns_reader_bytes(), which are 8 blocks of text and the batches of 4 blocks per thread of `executor`, which must
// outlive the reader; a batch is at most four times its text, eight times that of a symmetric matrix. It is given
// back at the end of the input. Batches are cut at the same lines whatever the
// number of threads.
std::unique_ptr<CoordinateReader> open_tns(std::vector<std::filesystem::path> inputs, const TnsOptions& options,
                                           Executor& executor);

}  // namespace blco
