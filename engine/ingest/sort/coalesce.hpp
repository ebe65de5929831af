// Second stage of ingest: coalesces the duplicates of a run, so that its coordinates are distinct.
#pragma once

#include <memory>
#include <vector>

#include "blco/duplicate_policy.hpp"
#include "blco/labels.hpp"
#include "blco/layout.hpp"
#include "engine/ingest/sort/reordering.hpp"
#include "engine/ingest/sort/sorted_run.hpp"

namespace blco {

// Gives a line the coordinates that messages name: as in the input, counted from `index_base`, or their labels.
struct LineNames {
  const TensorLayout& layout;
  int index_base = 0;
  const Reordering* reordering = nullptr;  // null: the input is not reordered
  std::vector<Labels> labels = {};         // per mode; empty: none
};

// Coalesces duplicates left to right, in input order. What `names` refers to must outlive the source.
// The source's next() throws Error{invalid_argument}, which names the coordinates, for duplicates under
// DuplicatePolicy::error and for a sum that is not finite.
std::unique_ptr<SortedSource> coalesce_run(std::unique_ptr<SortedRun> run, DuplicatePolicy policy, LineNames names);

// The same for a run in memory: next() coalesces on all threads, and fetch() copies entries.
std::unique_ptr<SortedSource> coalesce_in_memory(std::unique_ptr<MemoryRun> run, DuplicatePolicy policy,
                                                 LineNames names, Executor& executor);

}  // namespace blco
