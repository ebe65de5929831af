// Second stage of ingest: runs become one sequence in line order, equal coordinates folded.
#pragma once

#include <blco/ingest.hpp>
#include <memory>
#include <vector>

#include "blco/labels.hpp"
#include "blco/layout.hpp"
#include "engine/ingest/relabelling.hpp"
#include "engine/ingest/sorted_run.hpp"
#include "engine/ingest/sorted_source.hpp"

namespace blco {

// What messages say of a line: its coordinates in the input, counted from `index_base`, or what they stand for.
struct LineNames {
  const TensorLayout& layout;
  int index_base = 0;
  const Relabelling* relabelling = nullptr;  // where the input is relabelled
  std::vector<Labels> labels = {};           // per mode, where there are some
};

// Duplicates are folded left to right in the order of the run, which is that of the input. What `names` refers to must
// outlive the source. Its next() throws Error{invalid_argument} for duplicates under DuplicatePolicy::error, and where
// a sum is not finite.
std::unique_ptr<SortedSource> fold_run(std::unique_ptr<SortedRun> run, DuplicatePolicy policy, LineNames names);

// The same, folded on all threads, and copied by those that fetch its parts.
std::unique_ptr<SortedSource> fold_in_memory(std::unique_ptr<MemoryRun> run, DuplicatePolicy policy, LineNames names,
                                             Executor& executor);

}  // namespace blco
