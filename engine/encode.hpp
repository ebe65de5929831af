// Third stage of ingest: sorted nonzeros become chunks of a container, encoded in parallel.
#pragma once

#include <blco/ingest.hpp>
#include <cstdint>
#include <filesystem>

#include "blco/executor.hpp"
#include "blco/layout.hpp"
#include "engine/sorted_source.hpp"
#include "io/container.hpp"

namespace blco {

// Pulls all of `source` and writes the container `output`, which appears when it is whole. `info` gives shape, mode
// names and chunk_nnz. The bytes depend on the nonzeros and options alone. Throws Error{invalid_argument} for no
// nonzeros and for values that are all zero, or whose sum of squares is not finite.
IngestReport encode_container(SortedSource& source, const TensorLayout& layout, ContainerInfo info, int zstd_level,
                              const std::filesystem::path& output, Executor& executor);

// Memory that encode_container takes with this many chunks at work at a time: one per thread, unless there are fewer.
std::uint64_t encode_bytes(const TensorLayout& layout, std::uint64_t chunk_nnz, std::uint64_t chunks_at_once);

}  // namespace blco
