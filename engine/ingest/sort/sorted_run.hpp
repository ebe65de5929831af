// Nonzeros in line order: as runs, with equal lines in input order, and as the encoder takes them, all distinct.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "blco/coalesce_values.hpp"
#include "blco/duplicate_policy.hpp"
#include "blco/executor.hpp"
#include "blco/layout.hpp"
#include "blco/raw_vector.hpp"
#include "kernels/run_device.hpp"

namespace blco {

// Tells whether the duplicates within a run may be coalesced early, before runs are merged, without changing a bit of
// the result. Requires: admits() is called for each run, in input order.
class EarlyCoalescing {
 public:
  explicit EarlyCoalescing(DuplicatePolicy policy) : policy_(policy) {}

  DuplicatePolicy policy() const { return policy_; }

  // `values` is a range, and get(element) its value. Sums of integers are exact in any order while none exceeds 2^53.
  template <class Values, class Get>
  bool admits(const Values& values, const Get& get) {
    return admits([&] {
      double sum = 0;
      for (const auto& entry : values) {
        if (!(sum <= exact_integer_limit)) break;
        const double value = get(entry);
        sum = value == std::trunc(value) ? sum + std::abs(value) : 2 * exact_integer_limit;
      }
      return sum;
    });
  }

  // The same where `magnitudes` returns the sum of all magnitudes, or more than 2^53 if a value is no integer.
  template <class Magnitudes>
  bool admits(const Magnitudes& magnitudes) {
    if (policy_ == DuplicatePolicy::error || policy_ == DuplicatePolicy::mean) return false;
    const bool adds = policy_ == DuplicatePolicy::sum || policy_ == DuplicatePolicy::count;
    if (adds && total_ <= exact_integer_limit) total_ += magnitudes();
    return !adds || total_ <= exact_integer_limit;
  }

 private:
  DuplicatePolicy policy_;
  double total_ = 0;  // of the magnitudes of all values so far
};

// Nonzeros in columns; `key` is empty for tensors without a key column.
struct SortedBatch {
  RawVector<std::uint64_t> low;
  RawVector<std::uint64_t> key;
  RawVector<double> values;

  std::size_t count() const { return values.size(); }
  void clear() {
    low.clear();
    key.clear();
    values.clear();
  }
};

// Nonzeros [first, first + count) of a source. They are in `entries` once its fetch() has put them there.
struct SortedPart {
  SortedBatch entries;
  std::uint64_t first = 0;
  std::size_t count = 0;
};

class SortedSource {
 public:
  virtual ~SortedSource() = default;

  // Replaces `part` by the next `max_count` nonzeros, or by the rest; reuses its memory. Returns false when none are
  // left. May use all threads.
  virtual bool next(SortedPart& part, std::size_t max_count) = 0;

  // Nonzeros left out so far, which next() did not give.
  virtual std::uint64_t left_out() const { return 0; }

  // Puts the nonzeros of a part into its `entries`. Any thread, each with another part.
  virtual void fetch(SortedPart&) const {}

  // Packs a part on the device that holds it; then fetch() is not needed. Returns nothing if the part is in host
  // memory. Any thread.
  virtual std::optional<DevicePackedChunk> pack(const SortedPart&) const { return std::nullopt; }
};

// Enough entries to make a call cheap, and few enough to stay in a cache.
inline constexpr std::size_t run_block_entries = 4096;

// Reads a run from its start to its end.
class SortedRun {
 public:
  virtual ~SortedRun() = default;

  // Replaces `block` by the next entries. Returns false, and an empty block, at the end.
  virtual bool next(SortedBatch& block) = 0;

  // Whether duplicates have been coalesced, so that all lines are distinct. Sums may be infinite then.
  virtual bool is_coalesced() const { return false; }
};

// A run in the memory of the host or of a device.
class MemoryRun {
 public:
  virtual ~MemoryRun() = default;

  virtual std::uint64_t count() const = 0;

  // Coalesces equal lines if that changes no result.
  virtual void coalesce(EarlyCoalescing& coalescing, Executor& executor) = 0;

  // Coalesces all equal lines, on all threads. Returns the first line that cannot be coalesced: it occurs twice under
  // DuplicatePolicy::error, or its sum is not finite.
  [[nodiscard]] virtual std::optional<LineIndex> coalesce_all(DuplicatePolicy policy, Executor& executor) = 0;

  // Replaces `block` by the entries [first, first + entries). Any thread.
  virtual void copy(std::uint64_t first, std::uint64_t entries, SortedBatch& block) const = 0;

  // The entries [first, first + entries) as the device packs them that holds the run; nothing for a run in host memory.
  // Any thread.
  virtual std::optional<DevicePackedChunk> pack(std::uint64_t, std::uint64_t) const { return std::nullopt; }
};

}  // namespace blco
