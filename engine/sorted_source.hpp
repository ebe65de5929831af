// Nonzeros in line order, pulled in batches: what encode sees of runs and merging.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace blco {

// Columns of one batch; `key` is empty for tensors without a key column.
struct SortedBatch {
  std::vector<std::uint64_t> low;
  std::vector<std::uint64_t> key;
  std::vector<double> values;

  std::size_t count() const { return values.size(); }
  void clear() {
    low.clear();
    key.clear();
    values.clear();
  }
};

class SortedSource {
 public:
  virtual ~SortedSource() = default;

  // Replaces `batch` by the next nonzeros in line order, distinct, `most` of them unless fewer are left. Returns false
  // when there are none.
  virtual bool next(SortedBatch& batch, std::size_t most) = 0;
};

}  // namespace blco
