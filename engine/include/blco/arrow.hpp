// Tables of other libraries as tensors, by the Arrow C stream interface: pyarrow, polars, DuckDB, Arrow C++ and more.
#pragma once

#include <blco/arrow_abi.hpp>
#include <blco/ingest.hpp>
#include <blco/progress.hpp>
#include <filesystem>

namespace blco {

// Makes a tensor of the columns of a table that options.columns names, as ingest_files() does of delimited text, and
// writes it to `output`. The differences:
// - With COLUMN:index, the mode is as long as options.shape says, or as its largest index needs. Other lengths of
//   options.shape must be the numbers of labels.
// - Whole numbers, strings, booleans, and those of dictionaries are keys. Each batch may have a dictionary of its own; a
//   key is looked up once per dictionary. All that an ordered dictionary lists are keys, in its order.
// - A null, an empty string or NaN is a missing field. A word such as NA is a key.
// - Times may be dates and timestamps. A timestamp with a time zone counts by the clock of that zone, as the machine's
//   time zone database has it, or with COLUMN:UNIT:utc by UTC.
// - Values are integers, floats of 16 to 64 bits, decimals of 128 bits, booleans (1 and 0), or strings that are numbers.
// index_base and skip_lines are ignored; label_files and columns.separator are refused.
// Takes the stream over: it is released when this returns or throws, and stream.release is null. It is read batch by
// batch, on the calling thread. memory_bytes covers everything but the batches, of which one is held at a time, or two
// where there are dictionaries.
// Throws Error: as ingest_files() does, naming column and row, counted from 0; io if the stream fails; corrupt if a
// batch is not what the stream's schema says. On an error nothing is left on disk.
IngestReport ingest_arrow(ArrowArrayStream& stream, const std::filesystem::path& output, const IngestOptions& options,
                          const ProgressCallback& progress = {});

}  // namespace blco
