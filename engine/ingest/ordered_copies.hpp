// Makes copies of a tensor's nonzeros in the orders of modes: each of its chunks is read, sorted and encoded once more
// for each.
#pragma once

#include <blco/ingest.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "blco/executor.hpp"
#include "blco/layout.hpp"
#include "engine/common/progress_meter.hpp"
#include "engine/ingest/encode.hpp"
#include "engine/ingest/order_choice.hpp"
#include "engine/ingest/packed_chunks.hpp"
#include "engine/tensor/nonzero_reader.hpp"
#include "io/container/container_writer.hpp"

namespace blco {

struct CopyJob {
  ScanBudget budget;
  Compression compression;
  Executor& executor;
  ProgressMeter& meter;
};

// Within IngestOptions::memory_bytes, beside `held_bytes`.
ScanBudget copy_budget(std::uint64_t memory_bytes, std::uint64_t held_bytes);

// Throws Error{out_of_memory} naming the budget that copies of a tensor with such chunks require.
void check_copies(const OrderRequest& request, const TensorLayout& layout, std::uint64_t chunk_nnz, int zstd_level,
                  const ScanBudget& budget);

// Chooses the modes, and writes a copy for each behind the natural chunks, which are complete. Memory within the
// budget. The report gets the modes, and notes on those that were named in vain. Throws as an ingest does.
void write_copies(ContainerWriter& writer, const ContainerInfo& info, const OrderRequest& request, const CopyJob& job,
                  IngestReport& report);
// The same in memory, where a copy is held within the budget too.
void pack_copies(PackedChunks& natural, const OrderRequest& request, const CopyJob& job,
                 std::vector<std::string>& notes);

}  // namespace blco
