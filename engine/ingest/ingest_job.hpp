// Ingest from any reader: run, merge, encode.
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

// The contract of ingest_files, for any reader.
IngestReport run_ingest(CoordinateReader& reader, const std::filesystem::path& output, const IngestOptions& options,
                        Executor& executor, const ProgressCallback& progress = {});

// The chunks that run_ingest would write, packed in memory.
std::unique_ptr<ChunkSource> ingest_in_memory(CoordinateReader& reader, const IngestOptions& options,
                                              Executor& executor, const ProgressCallback& progress = {});

}  // namespace blco
