// Third stage of ingest: encodes sorted nonzeros in parallel, as the chunks of a container or of a tensor in memory.
#pragma once

#include <blco/ingest.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "blco/executor.hpp"
#include "blco/labels.hpp"
#include "blco/layout.hpp"
#include "engine/common/progress_meter.hpp"
#include "engine/ingest/packed_chunks.hpp"
#include "engine/ingest/sort/ingest_plan.hpp"
#include "engine/ingest/sort/reordering.hpp"
#include "engine/ingest/sort/sorted_run.hpp"
#include "io/container/chunk_source.hpp"
#include "io/container/container.hpp"
#include "io/container/container_writer.hpp"
#include "io/file/temporary_file.hpp"

namespace blco {

// The nonzeros to encode, and what the container says of them. Requires: `info` has shape, mode names and
// chunk_nnz.
struct EncodeInput {
  SortedSource& source;
  const TensorLayout& layout;
  ContainerInfo info;
  std::uint64_t max_nnz = 0;         // entries before coalescing
  Reordering* reordering = nullptr;  // null: not reordered; the original indices are taken out
  std::vector<Labels> labels = {};   // per mode, of the original indices; empty: none
  // Kept in the container where there are fewer nonzeros than entries; nothing: `info` says it.
  std::optional<DuplicatePolicy> duplicates = {};
};

// As IngestOptions has it.
struct Compression {
  int zstd_level = 0;
  int saving_percent = 0;
};
void check_compression(const Compression& compression);  // throws Error{invalid_argument}

// Takes chunks in order, one call at a time, on any thread.
using ChunkSink = std::function<void(StoredChunk&&)>;

// Encodes all nonzeros, tells `input.info` their number and their sum of squares, and reports shape, counts and sizes.
// Throws as encode_container does.
IngestReport encode_chunks(EncodeInput& input, const EncodePlan& plan, const Compression& compression,
                           const ChunkSink& sink, Executor& executor, ProgressMeter& meter);

// Called once all nonzeros are encoded, before the container appears.
using BeforeEnd = std::function<void(ContainerWriter&, const ContainerInfo&, IngestReport&)>;

// Writes the container `output`, which appears when it is whole. Its bytes do not depend on `plan` or on threads.
// Throws Error: invalid_argument if there are no nonzeros, if all values are zero, or if the sum of their squares is
// not finite; io; cancelled; what `before_end` throws.
IngestReport encode_container(EncodeInput input, const EncodePlan& plan, const Compression& compression,
                              TemporaryFile output, Executor& executor, ProgressMeter& meter,
                              const BeforeEnd& before_end = {});

// Encodes the same chunks into memory, without zstd. Throws likewise.
std::unique_ptr<PackedChunks> encode_in_memory(EncodeInput input, const EncodePlan& plan, Executor& executor,
                                               ProgressMeter& meter);

}  // namespace blco
