// Linearise and sort in memory, freeing the coordinates on the way.
#include "engine/run_builder.hpp"

#include <algorithm>
#include <array>

#include "blco/error.hpp"
#include "engine/memory.hpp"
#include "engine/radix_sort.hpp"

namespace blco {
namespace {

// Freed coordinates are given back to the system each time this much has come together.
constexpr std::uint64_t release_step_bytes = std::uint64_t{16} << 20;

template <typename Entry>
class MemoryRun final : public SortedRun {
 public:
  MemoryRun(std::unique_ptr<Entry[]> entries, std::uint64_t count) : entries_(std::move(entries)), count_(count) {}

  std::uint64_t count() const override { return count_; }

  void read(std::uint64_t first, std::uint64_t count, SortedBatch& batch) const override {
    for (std::uint64_t i = first; i < first + count; ++i) {
      const Entry& entry = entries_[i];
      batch.low.push_back(entry.low);
      if constexpr (std::is_same_v<Entry, WideEntry>) batch.key.push_back(entry.high);
      batch.values.push_back(entry.value);
    }
  }

 private:
  std::unique_ptr<Entry[]> entries_;
  std::uint64_t count_;
};

template <typename Entry>
void linearize_batch(const TensorLayout& layout, const CoordinateBatch& batch, Entry* entries) {
  std::array<std::uint64_t, max_order> coordinates{};
  const std::span<const std::uint64_t> point(coordinates.data(), static_cast<std::size_t>(batch.order));
  for (std::size_t i = 0; i < batch.count(); ++i) {
    for (int n = 0; n < batch.order; ++n) coordinates[static_cast<std::size_t>(n)] = batch.coordinate(i, n);
    const LineIndex line = layout.linearize(point);
    if constexpr (std::is_same_v<Entry, WideEntry>) {
      entries[i] = {line.low, line.key, batch.values[i]};
    } else {
      entries[i] = {line.low, batch.values[i]};
    }
  }
}

template <typename Entry>
std::unique_ptr<SortedRun> build_run(const TensorLayout& layout, std::vector<CoordinateBatch> batches,
                                     std::uint64_t entry_count, Executor& executor) {
  // Left uninitialised: pages are taken as coordinates are freed.
  auto entries = std::make_unique_for_overwrite<Entry[]>(entry_count);
  const auto group = static_cast<std::size_t>(executor.width());
  std::uint64_t position = 0;
  std::uint64_t freed_bytes = 0;
  for (std::size_t first = 0; first < batches.size(); first += group) {
    const std::size_t count = std::min(group, batches.size() - first);
    std::vector<std::uint64_t> begin(count);
    for (std::size_t i = 0; i < count; ++i) {
      begin[i] = position;
      position += batches[first + i].count();
      freed_bytes += batches[first + i].bytes();
    }
    executor.run(count, [&](std::size_t i) {
      linearize_batch(layout, batches[first + i], entries.get() + begin[i]);
      batches[first + i] = {};
    });
    if (freed_bytes >= release_step_bytes) {
      release_freed_memory();
      freed_bytes = 0;
    }
  }
  batches = {};
  release_freed_memory();
  {
    const auto scratch = std::make_unique_for_overwrite<Entry[]>(entry_count);
    radix_sort<Entry>({entries.get(), entry_count}, {scratch.get(), entry_count}, layout.line_bits(), executor);
  }
  return std::make_unique<MemoryRun<Entry>>(std::move(entries), entry_count);
}

}  // namespace

void RunBuilder::add(CoordinateBatch&& batch) {
  if (extent_.empty()) extent_.resize(static_cast<std::size_t>(batch.order), 0);
  for (std::size_t n = 0; n < extent_.size(); ++n) extent_[n] = std::max(extent_[n], batch.upper[n] + 1);
  entry_count_ += batch.count();
  coordinate_bytes_ += batch.bytes();
  if (coordinate_bytes_ <= memory_bytes_) {
    batches_.push_back(std::move(batch));
  } else {
    batches_ = {};
  }
}

void RunBuilder::check_budget(const TensorLayout& layout, std::uint64_t extra_bytes) const {
  const std::uint64_t entry_bytes = layout.has_key() ? sizeof(WideEntry) : sizeof(NarrowEntry);
  const std::uint64_t run_bytes = entry_count_ * entry_bytes;
  const std::uint64_t collected = std::max(coordinate_bytes_, run_bytes) + release_step_bytes;
  const std::uint64_t need = std::max({collected, 2 * run_bytes, run_bytes + extra_bytes});
  if (need <= memory_bytes_) return;
  throw Error(ErrorKind::out_of_memory, "sorting " + std::to_string(entry_count_) + " entries takes " +
                                            format_bytes(need) + " of memory, and the budget is " +
                                            format_bytes(memory_bytes_) + "; give --memory " + as_budget(need) +
                                            " or more");
}

std::unique_ptr<SortedRun> RunBuilder::finish(const TensorLayout& layout, Executor& executor) {
  if (layout.has_key()) return build_run<WideEntry>(layout, std::move(batches_), entry_count_, executor);
  return build_run<NarrowEntry>(layout, std::move(batches_), entry_count_, executor);
}

}  // namespace blco
