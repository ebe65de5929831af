// Sorts any number of entries within a memory budget: in memory where they fit, else by runs on disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blco/executor.hpp"
#include "blco/layout.hpp"
#include "engine/common/progress_meter.hpp"
#include "engine/ingest/sort/coordinate_spool.hpp"
#include "engine/ingest/sort/ingest_plan.hpp"
#include "engine/ingest/sort/reordering.hpp"
#include "engine/ingest/sort/run_builder.hpp"
#include "engine/ingest/sort/run_store.hpp"

namespace blco {

// What a sort is told at its start.
struct SortSetup {
  IngestBudget budget;
  IngestSizes sizes;                  // the sort sets threads, order and has_layout itself
  std::filesystem::path folder = {};  // of the temporary files
  std::string mark = {};              // in their names
  RunDevice* device = nullptr;        // that sorts runs and outlives the result; null: the CPU does
};

// Entries go in by add(), and come out in line order by finish(). Collects them in memory as long as they have room
// there; then spills sorted runs to disk or, while the shape is unknown, the coordinates as they are.
class ExternalSort {
 public:
  // `executor` and `meter` must outlive the sort.
  ExternalSort(const SortSetup& setup, DuplicatePolicy policy, Executor& executor, ProgressMeter& meter)
      : budget_(setup.budget),
        sizes_(setup.sizes),
        folder_(setup.folder),
        mark_(setup.mark),
        device_(setup.device),
        coalescing_(policy),
        executor_(&executor),
        meter_(&meter),
        builder_(setup.device) {
    sizes_.threads = executor.width();
  }

  // Tells the layout before the first entry, so that entries can be sorted at once. Requires: no add() yet.
  // Throws Error{io} if the disk is already known to be too small.
  void set_layout(const TensorLayout& layout);

  // Sets what keys or labels take of the budget; 0 at first. It may rise and fall.
  void set_key_bytes(std::uint64_t bytes) { budget_.key_bytes = bytes; }

  // At the end of the input: sets what labels and final coordinates take from now on, and how many bits a line has in
  // the layout, which may both be more than before; makes room for them. Throws as add() does.
  void reserve_at_end(std::uint64_t key_bytes, int line_bits);

  // Sets what reordering takes of the budget; a smaller number than before changes nothing. Throws as add() does.
  void reserve_for_reordering(std::uint64_t bytes);

  // Takes the next entries of the input. `share` of it has been read, these included; negative: unknown.
  // Throws Error: out_of_memory naming the budget that would do; io where a disk is, or will be, full.
  void add(CoordinateBatch&& batch, double share);

  std::uint64_t entry_count() const { return read_.count; }
  // Per mode, the largest coordinate plus one.
  const std::vector<std::uint64_t>& extent() const { return extent_; }

  struct Result {
    std::unique_ptr<MemoryRun> memory;  // all entries, if nothing was spilled; else null
    std::unique_ptr<SortedRun> run;     // all entries, if some were spilled; else null
    EncodePlan plan;                    // what the encoder may take beside them
  };
  // Returns all entries in line order, equal lines in input order, with new coordinates. The sort must outlive the
  // result. Requires: at least one entry; and with new coordinates, no set_layout(). Throws as add() does; cancelled.
  Result finish(const TensorLayout& layout, const NewCoordinates& coordinates = {});

 private:
  static EntrySizes sizes_of(const CoordinateBatch& batch) { return {batch.count(), batch.bytes()}; }

  void use_layout(const TensorLayout& layout);
  void count(const CoordinateBatch& batch);
  bool has_room(const CoordinateBatch& next) const;
  // Whether it is already known that the entries will not all fit in memory.
  bool will_spill() const;
  void check_budget(const EntrySizes& next, std::uint64_t available_bytes) const;
  [[noreturn]] void refuse_budget(std::uint64_t needed) const;
  void check_disk(std::uint64_t needed) const;
  void check_disk_for_rest(double share) const;
  void make_room();
  void make_room_for_waiting();
  void spill_run(const TensorLayout& layout);
  void spill(MemoryRun& run);
  void unspool(const TensorLayout& layout);
  Result keep_in_memory(const TensorLayout& layout);
  RunSizes run_sizes(const MemoryRun* last) const;
  void merge_surplus_runs();
  Result open(std::unique_ptr<MemoryRun> last);

  IngestBudget budget_;
  IngestSizes sizes_;
  std::filesystem::path folder_;
  std::string mark_;
  RunDevice* device_;
  NewCoordinates coordinates_;
  EarlyCoalescing coalescing_;
  Executor* executor_;
  ProgressMeter* meter_;
  std::optional<TensorLayout> layout_;
  EntrySizes read_;
  std::vector<std::uint64_t> extent_;
  RunBuilder builder_;
  std::optional<std::uint64_t> dropped_key_bytes_;  // the most since entries had no room; none: all had
  std::unique_ptr<CoordinateSpool> spool_;
  std::vector<CoordinateBatch> spooled_;  // a few that wait to be packed and written together
  std::unique_ptr<RunStore> store_;
};

}  // namespace blco
