// Runs a whole ingest from any reader: sort, coalesce, encode.
#pragma once

#include <blco/ingest.hpp>
#include <blco/progress.hpp>
#include <filesystem>

#include "blco/executor.hpp"
#include "io/coordinate_reader.hpp"

namespace blco {

// Makes a container of all that `reader` gives; bytes, budget and errors as ingest_files() says.
IngestReport run_ingest(CoordinateReader& reader, const std::filesystem::path& output, const IngestOptions& options,
                        Executor& executor, const ProgressCallback& progress = {});

}  // namespace blco
