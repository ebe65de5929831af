// Reads tables that another library hands over as an Arrow C stream: columns become modes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "blco/executor.hpp"
#include "io/arrow/arrow_stream.hpp"
#include "io/coordinate_reader.hpp"
#include "io/table/table_modes.hpp"

namespace blco {

// Columns are chosen and read as those of delimited text (open_csv), with these differences: whole numbers are
// coordinates, from 0, and have no labels; only strings, booleans and what a dictionary lists are keys. Missing are
// nulls, empty strings and NaN. Dates and timestamps are times, and so are strings and numbers as text has them; values
// are numbers, decimals, booleans or strings that are numbers. Each key of a dictionary is looked up once per
// dictionary. The stream is asked for a batch when the one before is done, on the thread that calls next(), and cells
// are read where they lie; a dictionary keeps the batch before alive.
// `shape`: of the tensor; empty: unknown. Where keys have labels, it must be as long as these are many.
// `max_bytes`: about the most that the reader takes for its batches, if there are some thousand rows in it.
// Throws Error: invalid_argument naming column and row, counted from 0 (as open_csv does; a type that cannot be read;
// a coordinate that is negative or outside of the shape), out_of_memory (keys beyond key_bytes), io (the stream fails),
// corrupt (it gives what is none of its type).
// `executor` must outlive the reader.
std::unique_ptr<CoordinateReader> open_arrow(ArrowStream stream, const TableOptions& options,
                                             const std::vector<std::uint64_t>& shape, std::uint64_t max_bytes,
                                             Executor& executor);

}  // namespace blco
