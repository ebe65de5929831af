// Coordinates go to their place by the highest bits of their lines, and are freed before the rest is sorted.
#include "engine/ingest/sort/run_builder.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "blco/bits.hpp"
#include "blco/coalesce_values.hpp"
#include "blco/error.hpp"
#include "engine/common/memory.hpp"
#include "engine/ingest/sort/line_sort.hpp"
#include "kernels/aligned_buffer.hpp"

namespace blco {
namespace {

// Parts of a run that are sorted or coalesced at a time: enough that threads end together.
constexpr std::size_t parts_per_thread = 4;

// Entries that are linearised at a time: few enough to stay in the first cache.
constexpr std::size_t slice_entries = 512;

bool same_line(const NarrowEntry& a, const NarrowEntry& b) { return a.low == b.low; }
bool same_line(const WideEntry& a, const WideEntry& b) { return a.low == b.low && a.high == b.high; }

LineIndex line_of(const NarrowEntry& entry) { return {0, entry.low}; }
LineIndex line_of(const WideEntry& entry) { return {entry.high, entry.low}; }

template <typename Entry>
class EntryRun final : public MemoryRun {
 public:
  EntryRun(AlignedBuffer<Entry> entries, std::uint64_t count) : entries_(std::move(entries)), count_(count) {}

  std::uint64_t count() const override { return count_; }

  void coalesce(EarlyCoalescing& coalescing, Executor& executor) override {
    const std::span<Entry> entries = entries_.span().first(count_);
    // What is admitted has finite sums.
    if (coalescing.admits(entries, [](const Entry& entry) { return entry.value; })) {
      static_cast<void>(coalesce_all(coalescing.policy(), executor));
    }
  }

  std::optional<LineIndex> coalesce_all(DuplicatePolicy policy, Executor& executor) override {
    std::vector<Coalesced> parts(parts_per_thread * static_cast<std::size_t>(executor.width()));
    // Equal lines belong to one part.
    const Entry* entries = entries_.data();
    std::uint64_t begin = 0;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      std::uint64_t end = std::max(begin, count_ * (part + 1) / parts.size());
      while (end > 0 && end < count_ && same_line(entries[end - 1], entries[end])) ++end;
      parts[part].entries = entries_.span().subspan(begin, end - begin);
      begin = end;
    }
    executor.run(parts.size(), [&](std::size_t part) { coalesce_part(policy, parts[part]); });
    count_ = 0;
    for (const Coalesced& part : parts) {
      if (part.refused) return part.refused;
      Entry* to = entries_.data() + count_;
      if (to != part.entries.data()) std::move(part.entries.begin(), part.entries.end(), to);
      count_ += part.entries.size();
    }
    return std::nullopt;
  }

  void copy(std::uint64_t first, std::uint64_t entries, SortedBatch& block) const override {
    constexpr bool is_wide = std::is_same_v<Entry, WideEntry>;
    block.low.resize(entries);
    block.key.resize(is_wide ? entries : 0);
    block.values.resize(entries);
    for (std::uint64_t i = 0; i < entries; ++i) {
      const Entry& entry = entries_.data()[first + i];
      block.low[i] = entry.low;
      if constexpr (is_wide) block.key[i] = entry.high;
      block.values[i] = entry.value;
    }
  }

 private:
  struct Coalesced {
    std::span<Entry> entries;
    std::optional<LineIndex> refused;
  };

  static void coalesce_part(DuplicatePolicy policy, Coalesced& part) {
    const std::span<Entry> entries = part.entries;
    std::size_t kept = 0;
    std::uint64_t coalesced = 0;  // into the last one kept
    const auto finish_last = [&] {
      if (coalesced > 1) entries[kept - 1].value = finish_coalesce(policy, entries[kept - 1].value, coalesced);
    };
    for (const Entry& entry : entries) {
      if (kept == 0 || !same_line(entries[kept - 1], entry)) {
        finish_last();
        entries[kept++] = entry;
        coalesced = 1;
        continue;
      }
      ++coalesced;
      double& value = entries[kept - 1].value;
      if (policy != DuplicatePolicy::error) value = coalesce_values(policy, value, entry.value);
      if (policy == DuplicatePolicy::error || !std::isfinite(value)) {
        part.refused = line_of(entry);
        return;
      }
    }
    finish_last();
    part.entries = entries.first(kept);
  }

  AlignedBuffer<Entry> entries_;
  std::uint64_t count_;
};

// `Deposit` spreads the low bits of a number over a mask. `Order` is the tensor's, or 0 where it is known only now.
template <std::size_t Order, typename Entry, typename Coordinate, typename Deposit>
void linearize_order(const LayoutView& view, const Coordinate* coordinates, std::span<const double> values,
                     Entry* entries, const Deposit& deposit) {
  constexpr bool is_wide = std::is_same_v<Entry, WideEntry>;
  const std::array<ModeLayout, max_order> modes = view.modes;
  const std::size_t order = Order > 0 ? Order : static_cast<std::size_t>(view.order);
  for (std::size_t i = 0; i < values.size(); ++i, coordinates += order) {
    std::uint64_t low = 0;
    std::uint64_t key = 0;
    for (std::size_t n = 0; n < order; ++n) {
      low |= deposit(coordinates[n], modes[n].low_mask);
      // A mode whose low bits are 64 has none in the key.
      if constexpr (is_wide)
        key |= deposit(std::uint64_t{coordinates[n]} >> (modes[n].low_bits & 63), modes[n].high_mask);
    }
    if constexpr (is_wide) {
      entries[i] = {low, key, values[i]};
    } else {
      entries[i] = {low, values[i]};
    }
  }
}

template <typename Entry, typename Coordinate, typename Deposit>
void linearize_with(const TensorLayout& layout, const Coordinate* coordinates, std::span<const double> values,
                    Entry* entries, const Deposit& deposit) {
  const LayoutView& view = layout.view();
  switch (view.order) {
    case 2:
      return linearize_order<2>(view, coordinates, values, entries, deposit);
    case 3:
      return linearize_order<3>(view, coordinates, values, entries, deposit);
    case 4:
      return linearize_order<4>(view, coordinates, values, entries, deposit);
    case 5:
      return linearize_order<5>(view, coordinates, values, entries, deposit);
    default:
      return linearize_order<0>(view, coordinates, values, entries, deposit);
  }
}

#if defined(__x86_64__)
// Not the intrinsic, which is not inlined into code that runs on any CPU.
constexpr auto pdep_instruction = [](std::uint64_t value, std::uint64_t mask) {
  std::uint64_t result;
  asm("pdep %2, %1, %0" : "=r"(result) : "r"(value), "r"(mask));
  return result;
};
#endif

template <typename Entry, typename Coordinate>
void linearize(const TensorLayout& layout, const Coordinate* coordinates, std::span<const double> values,
               Entry* entries) {
#if defined(__x86_64__)
  if (has_fast_pext()) return linearize_with(layout, coordinates, values, entries, pdep_instruction);
#endif
  linearize_with(layout, coordinates, values, entries, pdep_portable);
}

// Entries [first, first + count) of a batch.
template <typename Entry>
void linearize_slice(const TensorLayout& layout, const CoordinateBatch& batch, std::size_t first, std::size_t count,
                     Entry* entries) {
  const std::size_t begin = first * static_cast<std::size_t>(batch.order);
  const auto values = std::span<const double>(batch.values).subspan(first, count);
  if (batch.wide.empty()) {
    linearize(layout, batch.narrow.data() + begin, values, entries);
  } else {
    linearize(layout, batch.wide.data() + begin, values, entries);
  }
}

// Lines are made twice, to count them and to move them: that takes less time than to write them down in between.
template <typename Entry>
std::unique_ptr<MemoryRun> build_run(const TensorLayout& layout, std::vector<CoordinateBatch> batches,
                                     std::uint64_t entry_count, Executor& executor) {
  const std::size_t parts =
      std::min(std::max(batches.size(), std::size_t{1}), parts_per_thread * static_cast<std::size_t>(executor.width()));
  const auto visit = [&](std::size_t part, const auto& sink) {
    std::array<Entry, slice_entries> slice;
    for (std::size_t b = batches.size() * part / parts; b < batches.size() * (part + 1) / parts; ++b) {
      const CoordinateBatch& batch = batches[b];
      for (std::size_t first = 0; first < batch.count(); first += slice_entries) {
        const std::size_t count = std::min(slice_entries, batch.count() - first);
        linearize_slice(layout, batch, first, count, slice.data());
        sink(std::span<const Entry>(slice).first(count));
      }
    }
  };
  AlignedBuffer<Entry> entries(entry_count);
  const Digit digit = first_digit(entry_count, layout.line_bits());
  const std::vector<std::size_t> buckets = scatter_by_digit(parts, visit, entries.span(), digit, executor);
  batches = {};
  release_freed_memory();
  {
    AlignedBuffer<Entry> scratch(entry_count);
    sort_buckets(entries.span(), scratch.span(), buckets, digit.from, executor);
  }
  return std::make_unique<EntryRun<Entry>>(std::move(entries), entry_count);
}

}  // namespace

void RunBuilder::add(CoordinateBatch&& batch) {
  entry_count_ += batch.count();
  coordinate_bytes_ += batch.bytes();
  batches_.push_back(std::move(batch));
}

std::uint64_t RunBuilder::memory_bytes(std::uint64_t entries, std::uint64_t coordinate_bytes, bool has_high_word,
                                       int threads) {
  const std::uint64_t run = entries * sorted_entry_bytes(has_high_word);
  return run + std::max(coordinate_bytes, run) + static_cast<std::uint64_t>(threads) * sorter_bytes(entries);
}

std::unique_ptr<MemoryRun> RunBuilder::finish(const TensorLayout& layout, Executor& executor,
                                              const NewCoordinates& coordinates) {
  const std::uint64_t count = entry_count_;
  std::vector<CoordinateBatch> batches = take_coordinates();
  if (coordinates.final_ones != nullptr || coordinates.reordering != nullptr) {
    executor.run(batches.size(), [&](std::size_t b) { coordinates.apply(batches[b]); });
  }
  if (device_ != nullptr) return sort_on_device(*device_, layout, batches);
  if (layout.has_high_word()) return build_run<WideEntry>(layout, std::move(batches), count, executor);
  return build_run<NarrowEntry>(layout, std::move(batches), count, executor);
}

std::vector<CoordinateBatch> RunBuilder::take_coordinates() {
  entry_count_ = 0;
  coordinate_bytes_ = 0;
  return std::exchange(batches_, {});
}

}  // namespace blco
