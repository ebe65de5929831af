// Runs a whole ingest from any reader: sort, fold, encode.
#pragma once

#include <blco/ingest.hpp>
#include <blco/progress.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "blco/executor.hpp"
#include "io/container/chunk_source.hpp"
#include "io/coordinate_reader.hpp"

namespace blco {

// Makes a container of all that `reader` gives; bytes, budget and errors as ingest_files() says.
IngestReport run_ingest(CoordinateReader& reader, const std::filesystem::path& output, const IngestOptions& options,
                        Executor& executor, const ProgressCallback& progress = {});

// Makes the chunks that run_ingest() would write, and keeps them in memory without zstd. Writes no files: throws
// Error{out_of_memory} if the entries and the result do not fit the budget together.
std::unique_ptr<ChunkSource> ingest_in_memory(CoordinateReader& reader, const IngestOptions& options,
                                              Executor& executor, const ProgressCallback& progress = {});

}  // namespace blco
