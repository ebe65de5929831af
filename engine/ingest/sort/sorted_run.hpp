// A run: nonzeros in line order, equal lines in input order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "blco/executor.hpp"
#include "blco/layout.hpp"
#include "engine/ingest/sort/duplicates.hpp"
#include "engine/ingest/sort/sorted_source.hpp"
#include "kernels/run_device.hpp"

namespace blco {

// Enough entries to make a call cheap, and few enough to stay in a cache.
inline constexpr std::size_t run_block_entries = 4096;

// Reads a run from its start to its end.
class SortedRun {
 public:
  virtual ~SortedRun() = default;

  // Replaces `block` by the next entries. Returns false, and an empty block, at the end.
  virtual bool next(SortedBatch& block) = 0;

  // Whether duplicates have been folded, so that all lines are distinct. Sums may be infinite then.
  virtual bool is_folded() const { return false; }
};

// A run in the memory of the host or of a device.
class MemoryRun : public SortedRun {
 public:
  virtual std::uint64_t count() const = 0;

  // Folds equal lines if that changes no result. Requires: no next() yet.
  virtual void fold(EarlyFolding& folding, Executor& executor) = 0;

  // Folds all equal lines, on all threads. Returns the first line that cannot be folded: it occurs twice under
  // DuplicatePolicy::error, or its sum is not finite. Requires: no next() yet.
  [[nodiscard]] virtual std::optional<LineIndex> fold_all(DuplicatePolicy policy, Executor& executor) = 0;

  // Replaces `block` by the entries [first, first + entries). Any thread.
  virtual void copy(std::uint64_t first, std::uint64_t entries, SortedBatch& block) const = 0;

  // The entries [first, first + entries) as the device packs them that holds the run; nothing for a run in host memory.
  // Any thread.
  virtual std::optional<DevicePackedChunk> pack(std::uint64_t, std::uint64_t) const { return std::nullopt; }
};

}  // namespace blco
