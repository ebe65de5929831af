// Nonzeros in line order, pulled in parts: what encode sees of runs and merging.
#pragma once

#include <cstddef>
#include <cstdint>

#include "blco/raw_vector.hpp"

namespace blco {

// Columns of one batch; `key` is empty for tensors without a key column.
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

// Nonzeros of a source: in `entries`, or to be put there by its fetch().
struct SortedPart {
  SortedBatch entries;
  std::uint64_t first = 0;  // of the source's
  std::size_t count = 0;
};

class SortedSource {
 public:
  virtual ~SortedSource() = default;

  // Replaces `part`, whose memory it uses again, by the next nonzeros in line order, distinct, `most` of them unless
  // fewer are left. Returns false when there are none. May use all threads.
  virtual bool next(SortedPart& part, std::size_t max_count) = 0;

  // Has the part's entries in memory. Thread-safe, for different parts.
  virtual void fetch(SortedPart&) const {}
};

}  // namespace blco
