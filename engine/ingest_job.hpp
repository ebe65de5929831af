// Ingest from any reader: run, merge, encode.
#pragma once

#include <blco/ingest.hpp>
#include <filesystem>

#include "blco/executor.hpp"
#include "io/coordinate_reader.hpp"

namespace blco {

// The contract of ingest_text, for entries from `reader`.
IngestReport run_ingest(CoordinateReader& reader, const std::filesystem::path& output, const IngestOptions& options,
                        Executor& executor);

}  // namespace blco
