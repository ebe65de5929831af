// Third stage of ingest: sorted nonzeros become chunks, encoded in parallel, in a container or in memory.
#pragma once

#include <blco/ingest.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "blco/executor.hpp"
#include "blco/labels.hpp"
#include "blco/layout.hpp"
#include "engine/common/progress_meter.hpp"
#include "engine/ingest/relabelling.hpp"
#include "engine/ingest/sorted_source.hpp"
#include "io/container/chunk_source.hpp"
#include "io/container/container.hpp"
#include "io/file/temporary_file.hpp"

namespace blco {

// What is encoded: all nonzeros that `source` has. `info` gives shape, mode names and chunk_nnz.
struct EncodeInput {
  SortedSource& source;
  const TensorLayout& layout;
  ContainerInfo info;
  std::uint64_t max_nnz = 0;           // entries before folding, for the progress
  Relabelling* relabelling = nullptr;  // of the modes, where they are; taken
  std::vector<Labels> labels = {};     // per mode, of original indices; or empty
};

// How many chunks are encoded at a time, and whether the last ones are written meanwhile and memory serves the next
// ones again: speed against memory. The chunks are the same.
struct EncodePlan {
  std::uint64_t chunks_at_once = 1;
  bool overlaps = false;

  friend bool operator==(const EncodePlan&, const EncodePlan&) = default;
};

// What the memory of encoding depends on.
struct EncodeSizes {
  bool has_key = false;
  std::uint64_t chunk_nnz = 0;  // of the largest chunk
  std::uint64_t chunk_count = 1;
  int zstd_level = 0;
  int threads = 1;
};

// The most memory that encoding takes beside its source.
std::uint64_t encode_bytes(const EncodeSizes& sizes, const EncodePlan& plan);

// The fastest plan that takes at most `memory_bytes`; nothing where there is none.
std::optional<EncodePlan> plan_encode(const EncodeSizes& sizes, std::uint64_t memory_bytes);

// Writes the container `output`, which appears when it is whole. The bytes depend on the nonzeros and options alone.
// Throws Error{invalid_argument} for no nonzeros and for values that are all zero, or whose sum of squares is not
// finite; cancelled.
IngestReport encode_container(EncodeInput input, const EncodePlan& plan, int zstd_level, TemporaryFile output,
                              Executor& executor, ProgressMeter& meter);

// The same chunks, packed, in memory.
std::unique_ptr<ChunkSource> encode_in_memory(EncodeInput input, const EncodePlan& plan, Executor& executor,
                                              ProgressMeter& meter);

// The most that the result of encode_in_memory takes.
std::uint64_t packed_bytes_bound(const EncodeSizes& sizes);

}  // namespace blco
