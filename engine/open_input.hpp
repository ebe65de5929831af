// Chooses the reader of what blco-ingest is given, by the first bytes of the files.
#pragma once

#include <blco/ingest.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "blco/executor.hpp"
#include "io/coordinate_reader.hpp"

namespace blco {

// NumPy archives and HDF5 files are arrays; anything else, also what is no regular file, is text. Several are one
// tensor, all arrays or all text. The reader takes about an eighth of options.memory_bytes where that is short. Throws
// Error as the readers do, and invalid_argument for a mixture or for skip_lines with arrays.
std::unique_ptr<CoordinateReader> open_input(const std::vector<std::filesystem::path>& inputs,
                                             const IngestOptions& options, Executor& executor);

}  // namespace blco
