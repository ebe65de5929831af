// One parallel traversal of a container's chunks within a memory budget, for jobs that look at all nonzeros once.
#pragma once

#include <blco/progress.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "io/container_reader.hpp"

namespace blco {

struct ScanRequest {
  const char* stage = "";
  std::uint64_t budget_bytes = 0;     // for everything
  std::uint64_t fixed_bytes = 0;      // of them, what the caller keeps
  std::uint64_t worker_bytes = 0;     // and what it keeps per worker
  std::uint64_t nonzeros_before = 0;  // of earlier traversals of the same stage
  std::uint64_t nonzeros_in_all = 0;  // of the stage; 0: of one traversal
  std::uint64_t bytes_before = 0;
};

// The workers that the budget and `threads` (0: one per processor) allow. Throws Error{out_of_memory} if not even one
// fits, naming the least budget that would do.
int scan_workers(const ContainerReader& tensor, const ScanRequest& request, int threads);

// Calls visit(worker, chunk) for every chunk, each worker (0 to workers - 1) with one chunk at a time; chunks are taken
// in order. An error at a chunk ends the traversal, and of several that of the lowest chunk is thrown, whatever the
// threads. Progress is reported from the caller's thread; where it says no, Error{cancelled} is thrown.
void scan_chunks(const ContainerReader& tensor, const ScanRequest& request, int workers,
                 const std::function<void(std::size_t, const ChunkView&)>& visit, const ProgressCallback& progress);

}  // namespace blco
