// Hands out distinct nonzeros in line order, part by part; all that the encoder knows of runs and merging.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "blco/raw_vector.hpp"
#include "kernels/run_device.hpp"

namespace blco {

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

  // Puts the nonzeros of a part into its `entries`. Any thread, each with another part.
  virtual void fetch(SortedPart&) const {}

  // Packs a part on the device that holds it; then fetch() is not needed. Returns nothing if the part is in host
  // memory. Any thread.
  virtual std::optional<DevicePackedChunk> pack(const SortedPart&) const { return std::nullopt; }
};

}  // namespace blco
