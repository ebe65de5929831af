// One parallel traversal of a container's chunks within a memory budget, for jobs that visit all nonzeros once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "engine/common/progress_meter.hpp"
#include "io/container/container_reader.hpp"

namespace blco {

// The memory of a traversal, in bytes.
struct ScanBudget {
  std::uint64_t total_bytes = 0;   // in all
  std::uint64_t fixed_bytes = 0;   // of these, kept by the caller
  std::uint64_t worker_bytes = 0;  // and kept by the caller per worker
};

// Number of workers that the budget and `threads` (0: one per processor) allow. Throws Error{out_of_memory} naming the
// smallest budget that suffices if not even one fits.
int scan_workers(const ContainerReader& tensor, const ScanBudget& budget, int threads);

// Calls visit(worker, chunk) for every chunk, in order; each worker (0 to workers - 1) handles one chunk at a time. An
// error ends the traversal; of several errors that of the lowest chunk is thrown, for any number of threads. The meter,
// in a stage that the caller has begun, counts nonzeros and stored bytes on the caller's thread.
void scan_chunks(const ContainerReader& tensor, int workers,
                 const std::function<void(std::size_t, const ChunkView&)>& visit, ProgressMeter& meter);

}  // namespace blco
