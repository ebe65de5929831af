// Makes copies of a tensor's nonzeros in the orders of modes: its chunks are read, sorted and encoded once more for
// each.
#pragma once

#include <blco/ingest.hpp>
#include <memory>
#include <vector>

#include "blco/executor.hpp"
#include "engine/common/progress_meter.hpp"
#include "engine/ingest/encode.hpp"
#include "engine/ingest/order_choice.hpp"
#include "engine/ingest/packed_chunks.hpp"
#include "engine/ingest/sort/external_sort.hpp"
#include "io/container/container_writer.hpp"

namespace blco {

struct CopyJob {
  SortSetup setup;  // budget, folder and mark, chunk_nnz and compression level; the copies set the rest
  Compression compression;
  Executor& executor;
  ProgressMeter& meter;
};

// Chooses the modes, and writes a copy for each behind the natural chunks, which are complete. Memory within the
// budget. Throws as an ingest does.
std::vector<OrderedMode> write_copies(ContainerWriter& writer, const ContainerInfo& info, const OrderRequest& request,
                                      const CopyJob& job);
// The same in memory, where a copy is held within the budget too.
void pack_copies(PackedChunks& natural, const OrderRequest& request, const CopyJob& job);

}  // namespace blco
