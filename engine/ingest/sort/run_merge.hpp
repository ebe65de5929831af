// Merges runs on all threads, a window of blocks at a time.
#pragma once

#include <blco/ingest.hpp>
#include <cstdint>
#include <memory>
#include <vector>

#include "blco/executor.hpp"
#include "engine/ingest/sort/run_store.hpp"
#include "engine/ingest/sort/sorted_run.hpp"

namespace blco {

struct MergeSetup {
  DuplicatePolicy policy = DuplicatePolicy::sum;
  std::uint64_t window_blocks = 0;  // read and merged at a time
};

// Merges all runs of `store`, and `last` behind them unless it is null. Folds duplicates unless they are errors.
// The first lines of all blocks tell in which order blocks are needed (forecasting: Knuth, volume 3, section 5.4.9). So
// all threads read and decode a window of blocks, cut it at lines, and merge its parts.
// next() uses the executor; `store` and `executor` must outlive the run. Peak memory: parallel_merge_bytes().
// Requires: setup.window_blocks > 0, and lines_fit_window().
std::unique_ptr<SortedRun> merge_in_parallel(const RunStore& store, std::unique_ptr<MemoryRun> last,
                                             const MergeSetup& setup, Executor& executor);

// Whether a window of so many blocks is large enough for the duplicates of any line: they never fill half of it.
bool lines_fit_window(const RunStore& store, std::uint64_t window_blocks);

}  // namespace blco
