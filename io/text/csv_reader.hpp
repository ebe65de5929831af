// Reads delimited text with a header (CSV, TSV), plain or compressed by gzip or zstd, in parallel and strictly: columns
// of keys become modes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "blco/executor.hpp"
#include "blco/labels.hpp"
#include "io/coordinate_reader.hpp"
#include "io/text/csv_header.hpp"

namespace blco {

struct CsvOptions {
  CsvColumns columns;                                // by their names in the header
  char separator = 0;                                // 0: as find_csv_header tells
  std::uint64_t skip_lines = 0;                      // before the header, at the start of every file
  std::size_t block_bytes = std::size_t{256} << 10;  // text that becomes one batch, about
  std::uint64_t key_bytes = ~std::uint64_t{0};       // memory for the keys
  std::uint64_t memory_bytes = 0;                    // of the whole job, for the message where that is not enough
  std::vector<Labels> known = {};                    // per mode, keys that have their numbers already
};

// Memory of a reader beside its keys.
std::uint64_t csv_reader_bytes(std::uint64_t block_bytes, int threads);

// RFC 4180: one row a line, fields apart by the separator; a field that starts with a quote ends with one, and has the
// separator, and quotes as two, in it. Line breaks within quotes are refused. Also accepted are CR LF, a byte order
// mark, and blank lines. The first line that is not blank names the columns; several files are one tensor, in the order
// given, and have the same header. The keys of a mode are its fields, byte for byte, and are numbered by their first
// appearance, whatever the number of threads. Refused with Error{invalid_argument}, naming file, line and column: rows
// with another number of fields than the header, empty keys, values that are not finite numbers, and columns as
// make_csv_form does; with Error{out_of_memory}, naming a budget that will do: keys beyond key_bytes; with Error{io}: a
// file that cannot be read; with Error{corrupt}: a damaged or truncated compressed stream. Memory: csv_reader_bytes()
// and kept_bytes(). `executor` must outlive the reader. Batches are cut at the same lines whatever the number of
// threads.
std::unique_ptr<CoordinateReader> open_csv(std::vector<std::filesystem::path> inputs, const CsvOptions& options,
                                           Executor& executor);

// The columns that a file has. Throws as open_csv does.
std::vector<std::string> read_csv_columns(const std::filesystem::path& file, char separator, std::uint64_t skip_lines);

}  // namespace blco
