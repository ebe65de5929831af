// What entries say by their means alone: which rows have none, and the errors that a model of held-out ones has to
// beat.
#pragma once

#include <blco/sweep.hpp>
#include <cstdint>
#include <vector>

#include "blco/executor.hpp"
#include "io/container/chunk_source.hpp"

namespace blco {

class EntryMeans {
 public:
  // Reads the entries once. `tensor` and `executor` must outlive this.
  EntryMeans(const ChunkSource& tensor, Executor& executor);
  // Of this and of compare(), beside a chunk.
  static std::uint64_t memory_bytes(std::uint64_t rows, bool is_reordered);

  // Rows of the mode without entries, in the container's order.
  std::vector<std::uint32_t> cold_rows(std::size_t mode) const;
  // Of the mode's rows with entries, the fewest that one has; 0: there is no such row.
  double fewest_entries(std::size_t mode) const;
  // Reads the entries once per mode more, and the held-out ones once.
  HeldOutReport compare(const ChunkSource& held_out) const;

 private:
  std::vector<std::vector<double>> find_biases() const;

  const ChunkSource& tensor_;
  Executor& executor_;
  std::vector<std::vector<double>> counts_;  // of entries, per mode and index
  double mean_ = 0;
};

}  // namespace blco
