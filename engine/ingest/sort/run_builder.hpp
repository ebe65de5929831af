// First stage of ingest: collects coordinates, and makes a sorted run of them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "blco/executor.hpp"
#include "blco/layout.hpp"
#include "engine/ingest/sort/device_run.hpp"
#include "engine/ingest/sort/reordering.hpp"
#include "engine/ingest/sort/run_entry.hpp"
#include "engine/ingest/sort/sorted_run.hpp"
#include "io/coordinate_reader.hpp"

namespace blco {

// Memory of an entry of a run in memory; sorting takes as much again.
constexpr std::uint64_t sorted_entry_bytes(bool has_high_word) {
  return has_high_word ? sizeof(WideEntry) : sizeof(NarrowEntry);
}

// How coordinates change before lines are made of them: first to the final ones, then to those of reordering.
struct NewCoordinates {
  const FinalCoordinates* final_ones = nullptr;  // null: they stay as they were read
  const Reordering* reordering = nullptr;        // null: they are not reordered

  // Any thread.
  void apply(CoordinateBatch& batch) const {
    if (final_ones != nullptr) final_ones->apply(batch);
    if (reordering != nullptr) reordering->apply(batch);
  }
};

class RunBuilder {
 public:
  // Runs are sorted by `device`, which must outlive them, or by the CPU if it is null.
  explicit RunBuilder(RunDevice* device = nullptr) : device_(device) {}

  bool is_empty() const { return entry_count_ == 0; }
  std::uint64_t entry_count() const { return entry_count_; }

  void add(CoordinateBatch&& batch);

  // Of all coordinates and values.
  std::uint64_t coordinate_bytes() const { return coordinate_bytes_; }

  // Peak memory of finish(), on so many threads, for entries whose coordinates and values take `coordinate_bytes`.
  static std::uint64_t memory_bytes(std::uint64_t entries, std::uint64_t coordinate_bytes, bool has_high_word,
                                    int threads);

  // Makes a run of all entries, with new coordinates. The builder is empty afterwards.
  std::unique_ptr<MemoryRun> finish(const TensorLayout& layout, Executor& executor,
                                    const NewCoordinates& coordinates = {});

  // Returns the batches as they were added. The builder is empty afterwards.
  std::vector<CoordinateBatch> take_coordinates();

 private:
  RunDevice* device_;
  std::vector<CoordinateBatch> batches_;
  std::uint64_t entry_count_ = 0;
  std::uint64_t coordinate_bytes_ = 0;
};

}  // namespace blco
