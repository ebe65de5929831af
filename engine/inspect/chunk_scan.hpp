// One parallel traversal of a container's chunks within a memory budget, for jobs that look at all nonzeros once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "engine/common/progress_meter.hpp"
#include "io/container/container_reader.hpp"

namespace blco {

// The memory of a traversal.
struct ScanBudget {
  std::uint64_t total_bytes = 0;   // for everything
  std::uint64_t fixed_bytes = 0;   // of them, what the caller keeps
  std::uint64_t worker_bytes = 0;  // and what it keeps per worker
};

// The workers that the budget and `threads` (0: one per processor) allow. Throws Error{out_of_memory} if not even one
// fits, naming the least budget that would do.
int scan_workers(const ContainerReader& tensor, const ScanBudget& budget, int threads);

// Calls visit(worker, chunk) for every chunk, each worker (0 to workers - 1) with one chunk at a time; chunks are taken
// in order. An error at a chunk ends the traversal, and of several that of the lowest chunk is thrown, whatever the
// threads. The meter, in a stage that the caller has begun, counts nonzeros and stored bytes on the caller's thread.
void scan_chunks(const ContainerReader& tensor, int workers,
                 const std::function<void(std::size_t, const ChunkView&)>& visit, ProgressMeter& meter);

}  // namespace blco
