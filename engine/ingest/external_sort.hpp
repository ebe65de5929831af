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
#include "engine/ingest/coordinate_spool.hpp"
#include "engine/ingest/encode.hpp"
#include "engine/ingest/relabelling.hpp"
#include "engine/ingest/run_builder.hpp"
#include "engine/ingest/run_store.hpp"

namespace blco {

struct SortLimits {
  std::uint64_t memory_bytes = 0;      // of the whole job
  std::uint64_t reader_bytes = 0;      // of these the reader's, until the input ends
  std::uint64_t chunk_nnz = 0;         // of the encoder that follows
  int zstd_level = 0;                  // of the encoder
  bool packs_in_memory = false;        // the encoder's result stays in memory, and so does everything else
  std::uint64_t expected_entries = 0;  // 0: unknown
  int line_bits = 0;                   // the least that there will be, where no layout is set
  std::filesystem::path folder = {};   // of the temporary files
  std::string mark = {};               // in their names
};

class ExternalSort {
 public:
  ExternalSort(const SortLimits& limits, DuplicatePolicy policy, Executor& executor, ProgressMeter& meter)
      : limits_(limits), budget_bytes_(limits.memory_bytes), folding_(policy), executor_(&executor), meter_(&meter) {}

  // The shape is known before the entries are: they need not be spooled. Throws Error{io} where it is already clear
  // that the disk is too small.
  void set_layout(const TensorLayout& layout);

  // From here on the caller itself takes `bytes` of the budget; 0 at first, and more or less with each call.
  void hold(std::uint64_t bytes);

  // Takes the next entries of the input, of which `share` has been read (negative: unknown). Throws Error:
  // out_of_memory naming the budget that would do; io: a full disk among others, or one that will not do.
  void add(CoordinateBatch&& batch, double share);

  // The caller keeps `bytes` of the budget for itself from now on, no less than before. Throws as add() does.
  void reserve(std::uint64_t bytes);

  std::uint64_t entry_count() const { return entry_count_; }
  // Per mode, the largest coordinate plus one.
  const std::vector<std::uint64_t>& extent() const { return extent_; }

  // All entries, relabelled where `relabelling` is given (for this, the layout was not), in line order, equal lines in
  // input order, and what the encoder may take beside them. This must outlive the run. Throws as add() does; cancelled.
  struct Result {
    std::unique_ptr<MemoryRun> memory;  // all entries, where nothing was spilled; or
    std::unique_ptr<SortedRun> run;
    EncodePlan plan;
  };
  Result finish(const TensorLayout& layout, const Relabelling* relabelling = nullptr);

 private:
  int line_bits() const;
  EncodeSizes encode_sizes(std::uint64_t entries) const;
  std::uint64_t sorting_bytes(std::uint64_t entries, std::uint64_t coordinate_bytes) const;
  std::uint64_t min_bytes(std::uint64_t entries) const;
  void check_budget(const CoordinateBatch& batch) const;
  [[noreturn]] void refuse_budget(std::uint64_t needed) const;
  void check_disk(double share) const;
  [[noreturn]] void refuse_disk(std::uint64_t needed, std::uint64_t free_bytes) const;
  bool has_room(const CoordinateBatch& batch) const;
  void make_room();
  void spill_run(const TensorLayout& layout);
  void spill(MemoryRun& run);
  void unspool(const TensorLayout& layout);
  void merge_surplus_runs();
  Result open(std::unique_ptr<MemoryRun> last);
  std::optional<Result> open_parallel(std::unique_ptr<MemoryRun>& last);

  SortLimits limits_;  // memory_bytes without what is reserved or held
  std::uint64_t budget_bytes_;
  std::uint64_t reserved_bytes_ = 0;
  std::uint64_t held_bytes_ = 0;
  const Relabelling* relabelling_ = nullptr;
  EarlyFolding folding_;
  Executor* executor_;
  ProgressMeter* meter_;
  std::optional<TensorLayout> layout_;
  std::uint64_t entry_count_ = 0;
  std::uint64_t coordinate_bytes_ = 0;
  std::vector<std::uint64_t> extent_;
  RunBuilder builder_;
  std::unique_ptr<CoordinateSpool> spool_;
  std::vector<CoordinateBatch> spooled_;  // not yet written: a few, that are packed together
  std::unique_ptr<RunStore> store_;
};

}  // namespace blco
