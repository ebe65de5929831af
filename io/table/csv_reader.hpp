// Reads delimited text with a header (CSV, TSV), plain or compressed by gzip or zstd, in parallel; columns of keys
// become modes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "blco/executor.hpp"
#include "io/coordinate_reader.hpp"
#include "io/table/table_modes.hpp"

namespace blco {

// Memory of a reader without its keys; of one that numbers known keys only, where `keeps_places`.
std::uint64_t csv_reader_bytes(std::uint64_t block_bytes, int threads, bool keeps_places = false);

// RFC 4180: fields separated by the separator, rows by line ends. A quoted field may contain the separator, line
// breaks, and quotes written twice; a field that does not start with a quote may contain quotes. Where the dialect has
// no quotes, every line is a row. Also accepted: CR LF, a byte order mark, and lines that are empty or have blanks
// alone (which are rows where the only column is one of keys). The first row that is not blank names the columns.
// Several files are one tensor, in the order given; each has a header and a separator of its own, and the columns that
// are asked for. The keys of a mode are its fields, byte for byte, or the units or numbers that they are read as,
// numbered by first appearance in the rows that are not left out, for any number of threads; at the end units are
// renumbered in the order of time, and numbers become bins. Batches are cut at the same rows for any number of threads.
// Throws Error: invalid_argument naming file, line and column (a row whose number of fields differs from the header, a
// missing field that is not accepted, a field that is no time or number where one is asked for, a value that is not a
// finite number, a key or name that is not UTF-8, a row or header longer than 1 MiB, columns as in make_csv_form, known
// labels as in ModeKeys), out_of_memory (keys beyond key_bytes; names a budget that suffices), io (cannot be read),
// corrupt (a damaged or truncated compressed stream).
// Memory: csv_reader_bytes() and kept_bytes(). `executor` must outlive the reader.
std::unique_ptr<CoordinateReader> open_csv(std::vector<std::filesystem::path> inputs, const TableOptions& options,
                                           Executor& executor);

// The column names of a file. Throws as open_csv does.
std::vector<std::string> read_csv_columns(const std::filesystem::path& file, const CsvDialect& dialect,
                                          std::uint64_t skip_lines);

}  // namespace blco
