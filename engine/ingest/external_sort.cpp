// When entries leave memory, in which form, and how they come back.
#include "engine/ingest/external_sort.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "engine/common/memory.hpp"
#include "engine/ingest/merged_runs.hpp"
#include "engine/ingest/parallel_merge.hpp"

namespace blco {
namespace {

// Reading more of a run at a time than this gains nothing.
constexpr std::uint64_t max_buffer_bytes = std::uint64_t{1} << 20;

constexpr EncodePlan min_plan{.chunks_at_once = 1, .overlaps = false};

std::uint64_t saturating_subtract(std::uint64_t bytes, std::uint64_t taken) {
  return bytes > taken ? bytes - taken : 0;
}

// What spilled entries take at the very least: coordinates that are far from uniform pack better, about by half.
std::uint64_t min_spilled_bytes(std::uint64_t entries, int line_bits) {
  const int bits = std::max(1, line_bits - static_cast<int>(std::bit_width(entries)));
  return entries / 16 * static_cast<std::uint64_t>(bits);
}

}  // namespace

void ExternalSort::set_layout(const TensorLayout& layout) {
  layout_ = layout;
  const std::uint64_t entries = limits_.expected_entries;
  const std::uint64_t run_bytes = entries * sorted_entry_bytes(layout.line_bits());
  if (limits_.packs_in_memory || 2 * run_bytes <= limits_.memory_bytes) return;
  const std::uint64_t free_bytes = free_disk_bytes(limits_.folder);
  const std::uint64_t needed = min_spilled_bytes(entries, layout.line_bits());
  if (needed > free_bytes) refuse_disk(needed, free_bytes);
}

void ExternalSort::hold(std::uint64_t bytes) {
  held_bytes_ = bytes;
  limits_.memory_bytes = saturating_subtract(budget_bytes_, reserved_bytes_ + held_bytes_);
}

int ExternalSort::line_bits() const {
  if (layout_) return layout_->line_bits();
  int bits = 0;
  for (const std::uint64_t length : extent_) bits += static_cast<int>(std::bit_width(length - 1));
  return std::max(bits, limits_.line_bits);
}

EncodeSizes ExternalSort::encode_sizes(std::uint64_t entries) const {
  EncodeSizes sizes;
  sizes.has_key = line_bits() > 64;
  sizes.chunk_nnz = std::min(limits_.chunk_nnz, entries);
  sizes.chunk_count = (entries + sizes.chunk_nnz - 1) / sizes.chunk_nnz;
  sizes.zstd_level = limits_.packs_in_memory ? 0 : limits_.zstd_level;
  sizes.threads = executor_->width();
  return sizes;
}

void ExternalSort::add(CoordinateBatch&& batch, double share) {
  if (extent_.empty()) extent_.resize(static_cast<std::size_t>(batch.order), 0);
  for (std::size_t n = 0; n < extent_.size(); ++n) extent_[n] = std::max(extent_[n], batch.upper[n] + 1);
  entry_count_ += batch.count();
  coordinate_bytes_ += batch.bytes();
  if (limits_.packs_in_memory) {
    // Past the budget they are counted, so that the one that would do can be named.
    if (sorting_bytes(entry_count_, coordinate_bytes_) <= limits_.memory_bytes) {
      builder_.add(std::move(batch));
    } else {
      builder_ = {};
    }
    return;
  }
  if (!spool_ && !builder_.is_empty() && !has_room(batch)) {
    check_budget(batch);
    make_room();
    check_disk(share);
  }
  if (!spool_) {
    builder_.add(std::move(batch));
    return;
  }
  spooled_.push_back(std::move(batch));
  if (spooled_.size() < static_cast<std::size_t>(executor_->width())) return;
  spool_->add(std::exchange(spooled_, {}));
  check_disk(share);
}

void ExternalSort::reserve(std::uint64_t bytes) {
  if (bytes <= reserved_bytes_) return;
  reserved_bytes_ = bytes;
  limits_.memory_bytes = saturating_subtract(budget_bytes_, bytes + held_bytes_);
  if (limits_.memory_bytes < limits_.reader_bytes) {
    refuse_budget(min_bytes(std::max({entry_count_, limits_.expected_entries, limits_.chunk_nnz})));
  }
  if (limits_.packs_in_memory || spool_ || builder_.is_empty()) return;
  CoordinateBatch nothing;
  nothing.order = static_cast<int>(extent_.size());
  if (has_room(nothing)) return;
  check_budget(nothing);
  make_room();
}

std::uint64_t ExternalSort::sorting_bytes(std::uint64_t entries, std::uint64_t coordinate_bytes) const {
  return RunBuilder::memory_bytes(entries, coordinate_bytes, line_bits(), executor_->width());
}

// Sorting takes the entries beside their coordinates, or twice; spilling once and the memory for packing.
bool ExternalSort::has_room(const CoordinateBatch& batch) const {
  const std::uint64_t entries = builder_.entry_count() + batch.count();
  const std::uint64_t coordinates = builder_.coordinate_bytes() + batch.bytes();
  const std::uint64_t run = entries * sorted_entry_bytes(line_bits());
  const int threads = executor_->width();
  std::uint64_t needed = sorting_bytes(entries, coordinates);
  needed = std::max(needed, run + RunStore::writing_bytes(line_bits() > 64, threads));
  if (!layout_) needed = std::max(needed, coordinates + CoordinateSpool::working_bytes(batch.order, threads));
  const std::uint64_t kept = limits_.reader_bytes + (store_ ? store_->index_bytes() : 0);
  return needed + batch.bytes() <= saturating_subtract(limits_.memory_bytes, kept);
}

// The least budget of a job that has spilled.
std::uint64_t ExternalSort::min_bytes(std::uint64_t entries) const {
  const EncodeSizes sizes = encode_sizes(entries);
  const std::uint64_t two_runs = 2 * RunStore::reading_bytes(sizes.has_key);
  const std::uint64_t writing = RunStore::writing_bytes(sizes.has_key, sizes.threads);
  return std::max({encode_bytes(sizes, min_plan) + two_runs, writing + two_runs, 2 * limits_.reader_bytes});
}

void ExternalSort::check_budget(const CoordinateBatch& batch) const {
  const std::uint64_t one_batch = sorting_bytes(batch.count(), batch.bytes()) + batch.bytes() + limits_.reader_bytes;
  if (std::max(min_bytes(entry_count_), one_batch) <= limits_.memory_bytes) return;
  const std::uint64_t in_the_end = std::max(entry_count_, std::max(limits_.expected_entries, limits_.chunk_nnz));
  refuse_budget(std::max(min_bytes(in_the_end), one_batch));
}

void ExternalSort::refuse_budget(std::uint64_t needed) const {
  const std::string job =
      limits_.packs_in_memory ? std::to_string(entry_count_) + " entries" : std::string("with temporary files");
  const std::string relabelling = reserved_bytes_ == 0 ? ""
                                                       : ", and relabelling requires " + format_bytes(reserved_bytes_) +
                                                             " (" + option_name("relabel", "none") + " avoids this)";
  const std::string keys = held_bytes_ == 0 ? "" : ", and the keys require " + format_bytes(held_bytes_);
  // Half of the budget is for keys at most, and there may be more of them to come.
  throw Error(ErrorKind::out_of_memory,
              "sorting " + job + " requires " + format_bytes(needed) + " of memory" + relabelling + keys +
                  ", but the budget is " + format_bytes(budget_bytes_) + "; give at least " +
                  option_name("memory_bytes", as_budget(needed + reserved_bytes_ + 2 * held_bytes_)) +
                  (limits_.packs_in_memory ? "" : ", or lower " + option_name("chunk_nnz")));
}

void ExternalSort::refuse_disk(std::uint64_t needed, std::uint64_t free_bytes) const {
  throw Error(ErrorKind::io, "the temporary files require about " + format_bytes(needed) + " more, but the disk of " +
                                 limits_.folder.string() + " has " + format_bytes(free_bytes) +
                                 " free; free some space, name another folder with " +
                                 option_name("temporary_directory") + ", or raise " + option_name("memory_bytes"));
}

// What is still to be written, as far as what was written tells. Runs take the place of what is spooled.
void ExternalSort::check_disk(double share) const {
  if (share <= 0) return;
  const std::uint64_t written = spool_ ? spool_->bytes_written() : store_->bytes_written();
  const auto needed = static_cast<std::uint64_t>(static_cast<double>(written) * std::max(0.0, 1 - share) / share);
  const std::uint64_t free_bytes = free_disk_bytes(limits_.folder);
  if (needed > free_bytes) refuse_disk(needed, free_bytes);
}

void ExternalSort::make_room() {
  if (layout_) {
    spill_run(*layout_);
  } else {
    spool_ =
        std::make_unique<CoordinateSpool>(limits_.folder, limits_.mark, static_cast<int>(extent_.size()), *executor_);
    spool_->add(builder_.take_coordinates());
  }
  release_freed_memory();
}

void ExternalSort::spill_run(const TensorLayout& layout) { spill(*builder_.finish(layout, *executor_, relabelling_)); }

void ExternalSort::spill(MemoryRun& run) {
  if (!store_) store_ = std::make_unique<RunStore>(limits_.folder, limits_.mark, line_bits() > 64);
  run.fold(folding_, *executor_);
  store_->append(run, *executor_, [this](std::uint64_t) { meter_->advance(0, 0); });
}

void ExternalSort::unspool(const TensorLayout& layout) {
  if (!spooled_.empty()) spool_->add(std::exchange(spooled_, {}));
  std::vector<CoordinateBatch> batches;
  while (spool_->next(batches)) {
    for (CoordinateBatch& batch : batches) {
      const std::uint64_t entries = batch.count();
      if (!builder_.is_empty() && !has_room(batch)) {
        spill_run(layout);
        release_freed_memory();
      }
      builder_.add(std::move(batch));
      meter_->advance(entries, 0);
    }
  }
  spool_.reset();
}

ExternalSort::Result ExternalSort::finish(const TensorLayout& layout, const Relabelling* relabelling) {
  limits_.reader_bytes = 0;
  layout_ = layout;
  relabelling_ = relabelling;
  const bool spooled = spool_ != nullptr;
  meter_->begin({.name = "sort", .nonzeros = spooled ? entry_count_ : 0});
  if (spooled) unspool(layout);
  if (limits_.packs_in_memory) {
    const EncodeSizes sizes = encode_sizes(entry_count_);
    const std::uint64_t run_bytes = entry_count_ * sorted_entry_bytes(line_bits());
    const std::uint64_t kept = run_bytes + packed_bytes_bound(sizes);
    const std::uint64_t sorting = sorting_bytes(entry_count_, coordinate_bytes_);
    const std::uint64_t needed = std::max(sorting, kept + encode_bytes(sizes, min_plan));
    if (needed > limits_.memory_bytes) refuse_budget(needed);
    Result result{builder_.finish(layout, *executor_, relabelling_), nullptr,
                  *plan_encode(sizes, limits_.memory_bytes - kept)};
    meter_->end();
    return result;
  }
  Result result = open(builder_.finish(layout, *executor_, relabelling_));
  meter_->end();
  return result;
}

// The last run stays in memory where that does not slow the encoder down.
ExternalSort::Result ExternalSort::open(std::unique_ptr<MemoryRun> last) {
  const EncodeSizes sizes = encode_sizes(entry_count_);
  const std::uint64_t reading = RunStore::reading_bytes(sizes.has_key);
  const std::uint64_t run_count = store_ ? store_->run_count() : 0;
  const std::uint64_t held = last->count() * sorted_entry_bytes(line_bits());
  const std::uint64_t left = saturating_subtract(limits_.memory_bytes, held + run_count * reading);
  const std::optional<EncodePlan> beside = plan_encode(sizes, left);
  if (run_count == 0 && beside) return {std::move(last), nullptr, *beside};
  const bool keeps =
      beside && beside == plan_encode(sizes, saturating_subtract(limits_.memory_bytes, (run_count + 1) * reading));
  if (!keeps) {
    if (min_bytes(entry_count_) > limits_.memory_bytes) refuse_budget(min_bytes(entry_count_));
    spill(*last);
    last.reset();
    release_freed_memory();
    merge_surplus_runs();
  }
  if (std::optional<Result> result = open_parallel(last)) return std::move(*result);
  const std::uint64_t runs = store_->run_count();
  const std::uint64_t available = saturating_subtract(limits_.memory_bytes, (keeps ? held : 0) + runs * reading);
  const EncodePlan plan = *plan_encode(sizes, available);
  const std::uint64_t spare = (available - encode_bytes(sizes, plan)) / runs;
  std::vector<std::unique_ptr<SortedRun>> sources =
      store_->open(RunStore::min_buffer_bytes(sizes.has_key) + std::min(spare, max_buffer_bytes));
  if (last) sources.push_back(std::move(last));
  if (sources.size() == 1) return {nullptr, std::move(sources[0]), plan};
  return {nullptr, std::make_unique<MergedRuns>(std::move(sources), sizes.has_key), plan};
}

// All threads merge where memory holds windows of all runs beside as many chunks as there are threads.
std::optional<ExternalSort::Result> ExternalSort::open_parallel(std::unique_ptr<MemoryRun>& last) {
  const std::uint64_t runs = store_->run_count() + (last ? 1 : 0);
  if (runs < 2) return std::nullopt;
  const std::uint64_t held = last ? last->count() * sorted_entry_bytes(line_bits()) : 0;
  const std::uint64_t available = saturating_subtract(limits_.memory_bytes, held);
  const EncodeSizes sizes = encode_sizes(entry_count_);
  const MergeSetup setup{folding_.policy(), merge_window_blocks(*store_, runs, available / 2, executor_->width())};
  if (setup.window_blocks == 0) return std::nullopt;
  const std::uint64_t merging = merge_window_bytes(*store_, runs, setup.window_blocks, executor_->width());
  const std::optional<EncodePlan> plan = plan_encode(sizes, saturating_subtract(available, merging));
  if (!plan ||
      plan->chunks_at_once < std::min<std::uint64_t>(sizes.chunk_count, static_cast<std::uint64_t>(sizes.threads)))
    return std::nullopt;
  return Result{nullptr, merge_in_parallel(*store_, std::move(last), setup, *executor_), *plan};
}

// Merges neighbours until all runs can be read beside the encoder.
void ExternalSort::merge_surplus_runs() {
  const EncodeSizes sizes = encode_sizes(entry_count_);
  const std::uint64_t reading = RunStore::reading_bytes(sizes.has_key);
  const std::uint64_t max_runs = saturating_subtract(limits_.memory_bytes, encode_bytes(sizes, min_plan)) / reading;
  const std::uint64_t max_at_once =
      saturating_subtract(limits_.memory_bytes, RunStore::writing_bytes(sizes.has_key, sizes.threads)) / reading;
  if (store_->run_count() <= max_runs) return;
  meter_->end();
  meter_->begin({.name = "merge"});
  for (std::size_t first = 0; store_->run_count() > max_runs; ++first) {
    if (first + 1 >= store_->run_count()) first = 0;
    const std::size_t count =
        std::min({static_cast<std::size_t>(max_at_once), store_->run_count() - static_cast<std::size_t>(max_runs) + 1,
                  store_->run_count() - first});
    store_->merge(first, count, *executor_, [this](std::uint64_t entries) { meter_->advance(entries, 0); });
  }
}

}  // namespace blco
