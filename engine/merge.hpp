// Second stage of ingest: runs become one sequence in line order, equal coordinates folded.
#pragma once

#include <blco/ingest.hpp>
#include <memory>

#include "blco/layout.hpp"
#include "engine/relabelling.hpp"
#include "engine/sorted_run.hpp"
#include "engine/sorted_source.hpp"

namespace blco {

// Duplicates are folded left to right in the order of the run, which is that of the input.
// `layout` and `relabelling`, which may be null, must outlive the source; they serve the messages. Throws
// Error{invalid_argument} for duplicates under DuplicatePolicy::error, and where a sum is not finite, naming the
// coordinates, counted from `index_base`.
std::unique_ptr<SortedSource> fold_run(std::unique_ptr<SortedRun> run, const TensorLayout& layout,
                                       DuplicatePolicy policy, int index_base,
                                       const Relabelling* relabelling = nullptr);

}  // namespace blco
