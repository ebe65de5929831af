// A run: nonzeros in line order, equal lines in input order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "blco/executor.hpp"
#include "blco/layout.hpp"
#include "engine/ingest/duplicates.hpp"
#include "engine/ingest/sorted_source.hpp"

namespace blco {

// Entries of a block: enough to make a call cheap, few enough to stay in a cache.
inline constexpr std::size_t run_block_entries = 4096;

// A run being read, from its start to its end.
class SortedRun {
 public:
  virtual ~SortedRun() = default;

  // Replaces `block` by the next entries. Returns false, and an empty block, at the end.
  virtual bool next(SortedBatch& block) = 0;

  // True where all lines are distinct, duplicates having been folded; sums may then not be finite.
  virtual bool is_folded() const { return false; }
};

// A run that lies in memory.
class MemoryRun : public SortedRun {
 public:
  virtual std::uint64_t count() const = 0;

  // Folds equal lines where that changes no result. Not after the first next().
  virtual void fold(EarlyFolding& folding, Executor& executor) = 0;

  // Folds all equal lines, on all threads. Returns the first line that cannot be: it occurs twice under
  // DuplicatePolicy::error, or its sum is not finite. Not after the first next().
  [[nodiscard]] virtual std::optional<LineIndex> fold_all(DuplicatePolicy policy, Executor& executor) = 0;

  // Replaces `block` by the entries [first, first + entries).
  virtual void copy(std::uint64_t first, std::uint64_t entries, SortedBatch& block) const = 0;
};

}  // namespace blco
