// Chooses the reader of what blco-ingest is given, by the options, the names and the first bytes of the files.
#pragma once

#include <blco/ingest.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "blco/executor.hpp"
#include "io/coordinate_reader.hpp"

namespace blco {

// NumPy archives and HDF5 files are arrays; anything else, also what is no regular file, is text: a table where
// options.columns names modes, else coordinates. Several are one tensor, all arrays or all text. The reader takes about
// an eighth of options.memory_bytes where that is short, and keys up to half. Throws Error as the readers do, and
// invalid_argument for a mixture, for skip_lines with arrays, and for a .csv or .tsv without columns.
std::unique_ptr<CoordinateReader> open_input(const std::vector<std::filesystem::path>& inputs,
                                             const IngestOptions& options, Executor& executor);

}  // namespace blco
