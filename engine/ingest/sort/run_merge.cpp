// Windows of blocks, cut into parts at lines; every part is merged by itself.
#include "engine/ingest/sort/run_merge.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "blco/fold_values.hpp"
#include "engine/ingest/sort/loser_tree.hpp"

namespace blco {
namespace {

// Parts per thread and window: enough that threads end a window together.
constexpr std::size_t parts_per_thread = 4;
// Space on disk is given back in steps: every one is a change of the file system's books.
constexpr std::uint64_t release_step_bytes = std::uint64_t{4} << 20;

// Decoded entries of a run that are not merged yet.
struct Pending {
  SortedBatch entries;
  std::size_t ready = 0;  // of them, from the start, are merged in this window
  std::uint64_t released = 0;
  std::uint64_t read = 0;
};

// Entries [at, end) of a run, which belong to one part.
struct Range {
  const SortedBatch* entries;
  std::size_t at;
  std::size_t end;

  LineIndex line() const { return line_of(*entries, at); }
  static LineIndex line_of(const SortedBatch& entries, std::size_t i) {
    return {entries.key.empty() ? 0 : entries.key[i], entries.low[i]};
  }
};

std::size_t first_not_before(const SortedBatch& entries, std::size_t from, std::size_t to, const LineIndex& line) {
  while (from < to) {
    const std::size_t middle = from + (to - from) / 2;
    if (Range::line_of(entries, middle) < line) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from;
}

// Appends in line order, folding unless duplicates are errors. A sum that is not finite stays so, and is found later.
template <bool is_wide>
class Appender {
 public:
  Appender(SortedBatch& out, std::size_t max_count, DuplicatePolicy policy) : out_(&out), policy_(policy) {
    out.low.resize(max_count);
    out.key.resize(is_wide ? max_count : 0);
    out.values.resize(max_count);
  }
  ~Appender() {
    finish_last();
    out_->low.resize(count_);
    out_->key.resize(is_wide ? count_ : 0);
    out_->values.resize(count_);
  }
  Appender(const Appender&) = delete;
  Appender& operator=(const Appender&) = delete;

  void add(const SortedBatch& from, std::size_t i) {
    const std::uint64_t low = from.low[i];
    bool same = count_ > 0 && out_->low[count_ - 1] == low && policy_ != DuplicatePolicy::error;
    if constexpr (is_wide) same = same && out_->key[count_ - 1] == from.key[i];
    if (same) {
      double& value = out_->values[count_ - 1];
      if (std::isfinite(value)) value = fold_values(policy_, value, from.values[i]);
      ++folded_;
      return;
    }
    finish_last();
    out_->low[count_] = low;
    if constexpr (is_wide) out_->key[count_] = from.key[i];
    out_->values[count_++] = from.values[i];
    folded_ = 1;
  }

 private:
  void finish_last() {
    if (folded_ > 1) out_->values[count_ - 1] = finish_fold(policy_, out_->values[count_ - 1], folded_);
  }

  SortedBatch* out_;
  DuplicatePolicy policy_;
  std::size_t count_ = 0;
  std::uint64_t folded_ = 0;  // entries in the last one
};

// Merges ranges, which are in input order. `Line` holds a whole line index.
template <class Line>
class RangeMerger {
  static constexpr bool is_wide = sizeof(Line) > 8;

 public:
  explicit RangeMerger(std::vector<Range> ranges) : ranges_(std::move(ranges)) {}

  void merge(SortedBatch& out, DuplicatePolicy policy) {
    std::size_t total = 0;
    for (const Range& range : ranges_) total += range.end - range.at;
    Appender<is_wide> appender(out, total, policy);
    if (ranges_.empty()) return;
    const auto head_of = [this](std::size_t r) { return head(ranges_[r]); };
    for (LoserTree<Line> tree(ranges_.size(), head_of); !tree.is_at_end(); tree.advance(head_of)) {
      Range& range = ranges_[tree.sequence()];
      appender.add(*range.entries, range.at++);
    }
  }

 private:
  static std::optional<Line> head(const Range& range) {
    if (range.at == range.end) return std::nullopt;
    if constexpr (is_wide) {
      return Line{range.entries->key[range.at]} << 64 | range.entries->low[range.at];
    } else {
      return range.entries->low[range.at];
    }
  }

  std::vector<Range> ranges_;
};

class ParallelMerge final : public SortedRun {
 public:
  ParallelMerge(const RunStore& store, std::unique_ptr<MemoryRun> last, const MergeSetup& setup, Executor& executor)
      : store_(&store),
        last_(std::move(last)),
        setup_(setup),
        executor_(&executor),
        forecast_(store.forecast()),
        pending_(store.run_count() + (last_ ? 1 : 0)) {
    if (last_) add_blocks_of_last();
    // Blocks of one run stay in their order: their first lines do not fall, and the sort is stable.
    std::ranges::stable_sort(forecast_, {}, &PackedBlock::first);
  }

  bool is_folded() const override { return setup_.policy != DuplicatePolicy::error; }

  bool next(SortedBatch& block) override {
    while (part_ == parts_.size()) {
      if (!has_more_) {
        block.clear();
        return false;
      }
      merge_window();
    }
    block = std::exchange(parts_[part_++], {});
    return true;
  }

 private:
  void add_blocks_of_last() {
    SortedBatch line;
    const auto run = static_cast<std::uint32_t>(store_->run_count());
    for (std::uint64_t first = 0; first < last_->count(); first += run_block_entries) {
      last_->copy(first, 1, line);
      const std::uint64_t count = std::min<std::uint64_t>(run_block_entries, last_->count() - first);
      forecast_.push_back({Range::line_of(line, 0), first, 0, run, static_cast<std::uint32_t>(count)});
    }
  }

  void merge_window() {
    parts_.clear();
    part_ = 0;
    const std::size_t begin = taken_;
    load(begin, std::min(begin + setup_.window_blocks, forecast_.size()));
    has_more_ = taken_ < forecast_.size();
    announce();
    executor_->run(pending_.size(), [&](std::size_t run) {
      const SortedBatch& entries = pending_[run].entries;
      pending_[run].ready =
          has_more_ ? first_not_before(entries, 0, entries.count(), forecast_[taken_].first) : entries.count();
    });
    const std::size_t count = parts_per_thread * static_cast<std::size_t>(executor_->width());
    parts_.resize(count);
    executor_->run(count, [&](std::size_t part) { merge_part(part, begin, count); });
    std::erase_if(parts_, [](const SortedBatch& part) { return part.count() == 0; });
    executor_->run(pending_.size(), [&](std::size_t run) { drop_merged(pending_[run]); });
  }

  // Decodes blocks [begin, end) of the forecast behind what is left of their runs.
  void load(std::size_t begin, std::size_t end) {
    std::vector<std::size_t> places;
    std::vector<std::size_t> counts;
    for (const Pending& pending : pending_) counts.push_back(pending.entries.count());
    for (std::size_t b = begin; b < end; ++b) {
      places.push_back(counts[forecast_[b].run]);
      counts[forecast_[b].run] += forecast_[b].count;
    }
    for (std::size_t run = 0; run < pending_.size(); ++run) {
      SortedBatch& entries = pending_[run].entries;
      entries.low.resize(counts[run]);
      if (store_->has_key()) entries.key.resize(counts[run]);
      entries.values.resize(counts[run]);
    }
    executor_->run(end - begin, [&](std::size_t i) {
      const PackedBlock& block = forecast_[begin + i];
      SortedBatch& entries = pending_[block.run].entries;
      SortedBatch decoded;
      if (block.run < store_->run_count()) {
        store_->read(block, decoded);
      } else {
        last_->copy(block.offset, block.count, decoded);
      }
      std::ranges::copy(decoded.low, entries.low.begin() + static_cast<std::ptrdiff_t>(places[i]));
      std::ranges::copy(decoded.key, entries.key.begin() + static_cast<std::ptrdiff_t>(places[i]));
      std::ranges::copy(decoded.values, entries.values.begin() + static_cast<std::ptrdiff_t>(places[i]));
    });
    for (std::size_t b = begin; b < end; ++b) release(forecast_[b]);
    taken_ = end;
  }

  void release(const PackedBlock& block) {
    if (block.run >= store_->run_count()) return;
    Pending& pending = pending_[block.run];
    if (pending.read == 0) pending.released = block.offset;
    pending.read = block.offset + block.bytes;
    if (pending.read - pending.released < release_step_bytes) return;
    store_->release(pending.released, pending.read - pending.released);
    pending.released = pending.read;
  }

  // Has the system read what the next window needs.
  void announce() const {
    const std::size_t end = std::min(taken_ + setup_.window_blocks, forecast_.size());
    for (std::size_t b = taken_; b < end; ++b) {
      if (forecast_[b].run < store_->run_count()) store_->announce(forecast_[b]);
    }
  }

  // The parts of a window are cut at first lines of its blocks, which lie about evenly among its entries.
  void merge_part(std::size_t part, std::size_t begin, std::size_t count) {
    const auto cut = [&](std::size_t run, std::size_t at) {
      if (at == 0) return std::size_t{0};
      if (at == count) return pending_[run].ready;
      const LineIndex& line = forecast_[begin + (taken_ - begin) * at / count].first;
      return first_not_before(pending_[run].entries, 0, pending_[run].ready, line);
    };
    std::vector<Range> ranges;
    for (std::size_t run = 0; run < pending_.size(); ++run) {
      const Range range{&pending_[run].entries, cut(run, part), cut(run, part + 1)};
      if (range.at < range.end) ranges.push_back(range);
    }
    if (store_->has_key()) {
      RangeMerger<WideLine>(std::move(ranges)).merge(parts_[part], setup_.policy);
    } else {
      RangeMerger<std::uint64_t>(std::move(ranges)).merge(parts_[part], setup_.policy);
    }
  }

  static void drop_merged(Pending& pending) {
    const auto drop = [&](auto& column) {
      if (!column.empty()) column.erase(column.begin(), column.begin() + static_cast<std::ptrdiff_t>(pending.ready));
    };
    drop(pending.entries.low);
    drop(pending.entries.key);
    drop(pending.entries.values);
  }

  const RunStore* store_;
  std::unique_ptr<MemoryRun> last_;
  MergeSetup setup_;
  Executor* executor_;
  std::vector<PackedBlock> forecast_;
  std::size_t taken_ = 0;  // of the forecast
  bool has_more_ = true;
  std::vector<Pending> pending_;  // by run
  std::vector<SortedBatch> parts_;
  std::size_t part_ = 0;  // the next to be handed on
};

}  // namespace

std::unique_ptr<SortedRun> merge_in_parallel(const RunStore& store, std::unique_ptr<MemoryRun> last,
                                             const MergeSetup& setup, Executor& executor) {
  return std::make_unique<ParallelMerge>(store, std::move(last), setup, executor);
}

bool lines_fit_window(const RunStore& store, std::uint64_t window_blocks) {
  std::vector<PackedBlock> forecast = store.forecast();
  std::ranges::sort(forecast, {}, &PackedBlock::first);
  for (std::size_t b = 0; b + window_blocks / 2 < forecast.size(); ++b) {
    if (forecast[b].first == forecast[b + window_blocks / 2].first) return false;
  }
  return true;
}

}  // namespace blco
