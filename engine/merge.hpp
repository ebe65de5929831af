// Second stage of ingest: runs become one sequence in line order, equal coordinates folded.
#pragma once

#include <blco/ingest.hpp>
#include <memory>
#include <vector>

#include "blco/layout.hpp"
#include "engine/run_builder.hpp"
#include "engine/sorted_source.hpp"

namespace blco {

// Duplicates are folded left to right in input order: run by run, and within a run in its order.
// `layout` must outlive the source; it serves the messages. Throws Error{invalid_argument} for duplicates under
// DuplicatePolicy::error, and where a sum is not finite, naming the coordinates, counted from `index_base`.
std::unique_ptr<SortedSource> merge_runs(std::unique_ptr<SortedRun> run, const TensorLayout& layout,
                                         DuplicatePolicy policy, int index_base);

}  // namespace blco
