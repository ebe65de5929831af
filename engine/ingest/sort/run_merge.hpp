// Merges sorted runs into one: on all threads, a window of blocks at a time, or on one thread in the memory of a block
// of each run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "blco/duplicate_policy.hpp"
#include "blco/executor.hpp"
#include "engine/ingest/sort/run_store.hpp"
#include "engine/ingest/sort/sorted_run.hpp"

namespace blco {

struct MergeSetup {
  DuplicatePolicy policy = DuplicatePolicy::sum;
  // Read and merged at a time by all threads, which coalesce duplicates too unless they are errors. 0: one thread
  // merges, and coalesces nothing.
  std::uint64_t window_blocks = 0;
};

// Merges runs [first, first + count) of `store`, and `last` behind them unless it is null; equal lines come in the
// order of the runs. A run is read once: its disk space is freed meanwhile. The first lines of all blocks tell in which
// order blocks are needed (forecasting: Knuth, volume 3, section 5.4.9). So all threads read and decode a window of
// blocks, cut it at lines, and merge its parts. next() uses the executor; `store` and `executor` must outlive the run.
// Peak memory: parallel_merge_bytes(), or without a window RunStore::reading_bytes() per run. Throws Error: io,
// corrupt. Requires: at least one run; with a window lines_fit_window().
std::unique_ptr<SortedRun> merge_runs(const RunStore& store, std::size_t first, std::size_t count,
                                      std::unique_ptr<MemoryRun> last, const MergeSetup& setup, Executor& executor);

// Whether a window of so many blocks is large enough for the duplicates of any line: they never fill half of it.
bool lines_fit_window(const RunStore& store, std::uint64_t window_blocks);

}  // namespace blco
