// Chooses a reader for input files by the options, their names and their first bytes.
#pragma once

#include <blco/ingest.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "blco/executor.hpp"
#include "io/coordinate_reader.hpp"

namespace blco {

// NumPy archives and HDF5 files are read as arrays. Anything else is read as text, pipes included: as a table if
// options.columns names modes, else as coordinates. Several inputs make one tensor. Where memory is short, the reader
// takes about an eighth of options.memory_bytes; keys take up to half of it.
// Throws Error as the readers do, and invalid_argument if text and arrays are mixed, if lines of arrays are to be
// skipped, if a .csv or .tsv comes without columns, and for a file of a format that is recognised but not read.
std::unique_ptr<CoordinateReader> open_input(const std::vector<std::filesystem::path>& inputs,
                                             const IngestOptions& options, Executor& executor);

}  // namespace blco
