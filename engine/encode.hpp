// Third stage of ingest: sorted nonzeros become chunks, encoded in parallel, in a container or in memory.
#pragma once

#include <blco/ingest.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "blco/executor.hpp"
#include "blco/layout.hpp"
#include "engine/progress_meter.hpp"
#include "engine/sorted_source.hpp"
#include "io/chunk_source.hpp"
#include "io/container.hpp"

namespace blco {

// What is encoded: all nonzeros that `source` has. `info` gives shape, mode names and chunk_nnz.
struct EncodeInput {
  SortedSource& source;
  const TensorLayout& layout;
  ContainerInfo info;
  std::uint64_t most_nnz = 0;  // entries before folding, for the progress
};

// Writes the container `output`, which appears when it is whole. The bytes depend on the nonzeros and options alone.
// Throws Error{invalid_argument} for no nonzeros and for values that are all zero, or whose sum of squares is not
// finite; cancelled.
IngestReport encode_container(EncodeInput input, int zstd_level, const std::filesystem::path& output,
                              Executor& executor, ProgressMeter& meter);

// The same chunks, packed, in memory.
std::unique_ptr<ChunkSource> encode_in_memory(EncodeInput input, Executor& executor, ProgressMeter& meter);

// Memory that encoding takes with this many chunks at work at a time: one per thread, unless there are fewer.
std::uint64_t encode_bytes(const TensorLayout& layout, std::uint64_t chunk_nnz, std::uint64_t chunks_at_once);

// The most that the result of encode_in_memory takes.
std::uint64_t packed_bytes_bound(const TensorLayout& layout, std::uint64_t chunk_nnz, std::uint64_t chunks);

}  // namespace blco
