// First stage of ingest: collects coordinates within the memory budget and makes them a sorted run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "blco/executor.hpp"
#include "blco/layout.hpp"
#include "engine/sorted_source.hpp"
#include "io/coordinate_reader.hpp"

namespace blco {

// A run: nonzeros in line order, equal lines in input order (not folded).
class SortedRun {
 public:
  virtual ~SortedRun() = default;

  virtual std::uint64_t count() const = 0;
  // Appends entries [first, first + count) to `batch`.
  virtual void read(std::uint64_t first, std::uint64_t count, SortedBatch& batch) const = 0;
};

class RunBuilder {
 public:
  // The budget is for the run and its coordinates.
  explicit RunBuilder(std::uint64_t memory_bytes) : memory_bytes_(memory_bytes) {}

  // Takes the batch. Past the budget the coordinates are counted but no longer kept.
  void add(CoordinateBatch&& batch);

  std::uint64_t entry_count() const { return entry_count_; }
  // Per mode, the largest coordinate plus one.
  const std::vector<std::uint64_t>& extent() const { return extent_; }

  // Throws Error{out_of_memory} naming the budget that would do if finish() would exceed the one given.
  // `extra_bytes`: what the later stages take beside the run.
  void check_budget(const TensorLayout& layout, std::uint64_t extra_bytes) const;

  // Linearises and sorts; the builder is empty afterwards.
  std::unique_ptr<SortedRun> finish(const TensorLayout& layout, Executor& executor);

 private:
  std::uint64_t memory_bytes_;
  std::vector<CoordinateBatch> batches_;
  std::uint64_t entry_count_ = 0;
  std::uint64_t coordinate_bytes_ = 0;  // of all entries, kept or not
  std::vector<std::uint64_t> extent_;
};

}  // namespace blco
