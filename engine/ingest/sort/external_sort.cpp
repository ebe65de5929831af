// When entries leave memory, in which form, and how they come back.
#include "engine/ingest/sort/external_sort.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "engine/common/memory.hpp"
#include "engine/ingest/sort/run_merge.hpp"

namespace blco {

void ExternalSort::set_layout(const TensorLayout& layout) {
  use_layout(layout);
  const std::uint64_t needed = min_disk_bytes(budget_, sizes_);
  if (needed > 0) check_disk(needed);
}

void ExternalSort::use_layout(const TensorLayout& layout) {
  layout_ = layout;
  sizes_.has_layout = true;
  sizes_.line_bits = layout.line_bits();
}

void ExternalSort::count(const CoordinateBatch& batch) {
  extent_.resize(static_cast<std::size_t>(batch.order), 0);
  int line_bits = 0;
  for (std::size_t n = 0; n < extent_.size(); ++n) {
    extent_[n] = std::max(extent_[n], batch.upper[n] + 1);
    line_bits += static_cast<int>(std::bit_width(extent_[n] - 1));
  }
  sizes_.order = batch.order;
  sizes_.line_bits = std::max(sizes_.line_bits, line_bits);
  read_ = read_ + sizes_of(batch);
}

void ExternalSort::add(CoordinateBatch&& batch, double share) {
  count(batch);
  if (sizes_.packs_in_memory) {
    // Past the budget they are counted, so that the one that would do can be named. None may join again: keys may take
    // less later.
    if (!dropped_key_bytes_ && can_sort(budget_, sizes_, read_)) {
      builder_.add(std::move(batch));
    } else {
      builder_ = RunBuilder(device_);
      dropped_key_bytes_ = std::max(dropped_key_bytes_.value_or(0), budget_.key_bytes);
    }
    return;
  }
  if (will_spill()) {
    IngestBudget at_end = budget_;
    at_end.key_bytes = 0;  // keys may take less once the input has ended
    check_budget(sizes_of(batch), at_end.available_bytes());
  }
  if (!spool_ && !builder_.is_empty() && !has_room(batch)) {
    check_budget(sizes_of(batch), budget_.available_bytes());
    make_room();
    check_disk_for_rest(share);
  }
  if (!spool_) {
    builder_.add(std::move(batch));
    return;
  }
  spooled_.push_back(std::move(batch));
  if (spooled_.size() < static_cast<std::size_t>(executor_->width())) return;
  spool_->add(std::exchange(spooled_, {}));
  check_disk_for_rest(share);
}

void ExternalSort::reserve_for_reordering(std::uint64_t bytes) {
  if (bytes <= budget_.reordering_bytes) return;
  budget_.reordering_bytes = bytes;
  if (budget_.available_bytes() < budget_.reader_bytes) {
    refuse_budget(min_spilling_bytes(budget_, sizes_, likely_entries(sizes_, read_.count)));
  }
  make_room_for_waiting();
}

void ExternalSort::reserve_at_end(std::uint64_t key_bytes, int line_bits) {
  const bool takes_more = key_bytes > budget_.key_bytes || line_bits > sizes_.line_bits;
  budget_.key_bytes = key_bytes;
  sizes_.line_bits = line_bits;
  if (takes_more) make_room_for_waiting();
}

void ExternalSort::make_room_for_waiting() {
  if (sizes_.packs_in_memory || spool_ || builder_.is_empty() || has_room({})) return;
  check_budget({}, budget_.available_bytes());
  make_room();
}

bool ExternalSort::has_room(const CoordinateBatch& next) const {
  const EntrySizes waiting{builder_.entry_count(), builder_.coordinate_bytes()};
  if (device_ != nullptr && waiting.count + next.count() > device_->max_entries(sizes_.has_high_word())) return false;
  return fits_in_memory(budget_, sizes_, waiting, sizes_of(next), store_ ? store_->index_bytes() : 0);
}

bool ExternalSort::will_spill() const {
  return spool_ || store_ || !can_sort(budget_, sizes_, {sizes_.expected_entries, 0});
}

void ExternalSort::check_budget(const EntrySizes& next, std::uint64_t available_bytes) const {
  const std::uint64_t entries = std::max(read_.count, sizes_.expected_entries);
  if (min_spilling_bytes(budget_, sizes_, entries, next) <= available_bytes) return;
  refuse_budget(min_spilling_bytes(budget_, sizes_, likely_entries(sizes_, read_.count), next));
}

void ExternalSort::refuse_budget(std::uint64_t needed) const {
  const std::string job =
      sizes_.packs_in_memory ? std::to_string(read_.count) + " entries" : std::string("with temporary files");
  const std::uint64_t numbers = budget_.reordering_bytes;
  const std::string reordering = numbers == 0 ? ""
                                              : ", and reordering requires " + format_bytes(numbers) + " (" +
                                                    option_name("reorder", "none") + " avoids this)";
  const std::string labels =
      budget_.key_bytes == 0 ? "" : ", and the labels require " + format_bytes(budget_.key_bytes);
  throw Error(ErrorKind::out_of_memory, "sorting " + job + " requires " +
                                            format_bytes(budget_.total_for(needed) - numbers - 2 * budget_.key_bytes) +
                                            " of memory" + reordering + labels + ", but the budget is " +
                                            format_bytes(budget_.total_bytes) + "; give at least " +
                                            option_name("memory_bytes", as_budget(budget_.total_for(needed))) +
                                            (sizes_.packs_in_memory ? "" : ", or lower " + option_name("chunk_nnz")));
}

void ExternalSort::check_disk(std::uint64_t needed) const {
  const std::uint64_t free_bytes = free_disk_bytes(folder_);
  if (needed <= free_bytes) return;
  throw Error(ErrorKind::io, "the temporary files require about " + format_bytes(needed) + " more, but the disk of " +
                                 folder_.string() + " has " + format_bytes(free_bytes) +
                                 " free; free some space, name another folder with " +
                                 option_name("temporary_directory") + ", or raise " + option_name("memory_bytes"));
}

void ExternalSort::check_disk_for_rest(double share) const {
  if (share <= 0) return;
  check_disk(remaining_disk_bytes(spool_ ? spool_->bytes_written() : store_->bytes_written(), share));
}

void ExternalSort::make_room() {
  if (layout_) {
    spill_run(*layout_);
  } else {
    spool_ = std::make_unique<CoordinateSpool>(folder_, mark_, sizes_.order, *executor_);
    spool_->add(builder_.take_coordinates());
  }
  release_freed_memory();
}

void ExternalSort::spill_run(const TensorLayout& layout) { spill(*builder_.finish(layout, *executor_, coordinates_)); }

void ExternalSort::spill(MemoryRun& run) {
  if (!store_) store_ = std::make_unique<RunStore>(folder_, mark_, sizes_.has_high_word());
  run.coalesce(coalescing_, *executor_);
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

ExternalSort::Result ExternalSort::finish(const TensorLayout& layout, const NewCoordinates& coordinates) {
  budget_.reader_bytes = 0;
  use_layout(layout);
  coordinates_ = coordinates;
  meter_->begin({.name = "sort", .nonzeros = spool_ ? read_.count : 0});
  if (spool_) unspool(layout);
  Result result =
      sizes_.packs_in_memory ? keep_in_memory(layout) : open(builder_.finish(layout, *executor_, coordinates_));
  meter_->end();
  return result;
}

ExternalSort::Result ExternalSort::keep_in_memory(const TensorLayout& layout) {
  budget_.key_bytes = std::max(budget_.key_bytes, dropped_key_bytes_.value_or(0));
  const std::optional<EncodePlan> plan = plan_packing(sizes_, read_, budget_.available_bytes());
  if (!plan || dropped_key_bytes_) refuse_budget(min_packing_bytes(sizes_, read_));
  return {builder_.finish(layout, *executor_, coordinates_), nullptr, *plan};
}

RunSizes ExternalSort::run_sizes(const MemoryRun* last) const {
  return {store_ ? store_->run_count() : 0, store_ ? store_->index_bytes() : 0, last == nullptr ? 0 : last->count()};
}

ExternalSort::Result ExternalSort::open(std::unique_ptr<MemoryRun> last) {
  const EncodeSizes encode = encode_sizes(sizes_, read_.count);
  const std::uint64_t memory_bytes = budget_.available_bytes();
  if (!keeps_last_run(encode, run_sizes(last.get()), memory_bytes)) {
    const std::uint64_t needed = min_spilling_bytes(budget_, sizes_, read_.count);
    if (needed > memory_bytes) refuse_budget(needed);
    spill(*last);
    last.reset();
    release_freed_memory();
    merge_surplus_runs();
  }
  const RunSizes runs = run_sizes(last.get());
  MergePlan plan = plan_merge(encode, runs, memory_bytes);
  if (!store_) return {std::move(last), nullptr, plan.encode};
  if (plan.window_blocks > 0 && !lines_fit_window(*store_, plan.window_blocks)) {
    plan = plan_serial_merge(encode, runs, memory_bytes);
  }
  const MergeSetup setup{coalescing_.policy(), plan.window_blocks};
  return {nullptr, merge_runs(*store_, 0, store_->run_count(), std::move(last), setup, *executor_), plan.encode};
}

// Merges neighbours until all runs can be read beside the encoder.
void ExternalSort::merge_surplus_runs() {
  const MergeLimits limits = plan_merge_limits(encode_sizes(sizes_, read_.count), budget_.available_bytes());
  if (store_->run_count() <= limits.max_final_runs) return;
  meter_->end();
  meter_->begin({.name = "merge"});
  for (std::size_t first = 0; store_->run_count() > limits.max_final_runs; ++first) {
    if (first + 1 >= store_->run_count()) first = 0;
    const auto count = static_cast<std::size_t>(plan_merged_runs(limits, store_->run_count(), first));
    store_->merge(first, count, *executor_, [this](std::uint64_t entries) { meter_->advance(entries, 0); });
  }
}

}  // namespace blco
