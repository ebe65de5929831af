// Merges runs on disk on all threads, a window of their lines at a time.
#pragma once

#include <blco/ingest.hpp>
#include <cstdint>
#include <memory>
#include <vector>

#include "blco/executor.hpp"
#include "engine/ingest/run_store.hpp"
#include "engine/ingest/sorted_run.hpp"

namespace blco {

struct MergeSetup {
  DuplicatePolicy policy = DuplicatePolicy::sum;
  std::uint64_t window_blocks = 0;  // that are taken at a time
};

// All runs of `store` and behind them, where there is one, `last`. Duplicates are folded, unless they are errors. The
// first lines of all blocks tell in which order blocks are needed (forecasting: Knuth, volume 3, section 5.4.9), so
// that a window of them is read and decoded in parallel, cut at lines, and its parts merged in parallel. next() uses
// the executor. `store` and `executor` must outlive the run.
std::unique_ptr<SortedRun> merge_in_parallel(const RunStore& store, std::unique_ptr<MemoryRun> last,
                                             const MergeSetup& setup, Executor& executor);

// The window that `memory_bytes` hold beside what is left of `runs` runs; 0 where that is too small to be worth it, or
// where so many equal lines meet that a window might not hold them.
std::uint64_t merge_window_blocks(const RunStore& store, std::uint64_t runs, std::uint64_t memory_bytes, int threads);

// The most memory that merging takes.
std::uint64_t merge_window_bytes(const RunStore& store, std::uint64_t runs, std::uint64_t window_blocks, int threads);

}  // namespace blco
