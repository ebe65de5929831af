// Windows of blocks, cut into parts at lines; every part is merged by itself.
#include "engine/ingest/sort/run_merge.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "blco/coalesce_values.hpp"

namespace blco {
namespace {

// Enough that threads end a window together.
constexpr std::size_t window_parts_per_thread = 4;
// Space on disk is given back in steps: every one is a change of the file system's books.
constexpr std::uint64_t release_step_bytes = std::uint64_t{4} << 20;

// A line index of more than 64 bits.
__extension__ using WideLine = unsigned __int128;

LineIndex line_of(const SortedBatch& entries, std::size_t i) {
  return {entries.key.empty() ? 0 : entries.key[i], entries.low[i]};
}

// A place among the decoded blocks of a run.
struct Place {
  std::size_t block = 0;
  std::size_t entry = 0;  // of the block; below its count, or 0 behind the last block

  friend auto operator<=>(const Place&, const Place&) = default;
};

// One run: the blocks that are still to be read, and those that are decoded and not all merged yet.
struct Sequence {
  std::span<const PackedBlock> unread;
  std::deque<SortedBatch> blocks;  // stay where they are while others are added
  Place begin;
  Place ready;  // entries from `begin` to here are merged in this window
  std::uint64_t released = 0;
  std::uint64_t read = 0;
};

// Where the first entry lies that is not before `line`, or with `passes_equal` behind it.
Place find_place(const Sequence& run, const LineIndex& line, bool passes_equal) {
  const auto passes = [&](const SortedBatch& block, std::size_t i) {
    const LineIndex other = line_of(block, i);
    return passes_equal ? other <= line : other < line;
  };
  const auto block =
      std::ranges::partition_point(run.blocks, [&](const SortedBatch& of) { return passes(of, of.count() - 1); });
  Place place{static_cast<std::size_t>(block - run.blocks.begin()), 0};
  if (block == run.blocks.end()) return place;
  for (std::size_t to = block->count(); place.entry < to;) {
    const std::size_t middle = place.entry + (to - place.entry) / 2;
    passes(*block, middle) ? place.entry = middle + 1 : to = middle;
  }
  return std::max(place, run.begin);
}

// Entries [at, end) of a run, which belong to one part.
class Range {
 public:
  Range(const Sequence& run, Place at, Place end)
      : blocks_(&run.blocks), block_(at < end ? &run.blocks[at.block] : nullptr), at_(at), end_(end) {}

  bool is_empty() const { return at_ == end_; }
  const SortedBatch& block() const { return *block_; }
  std::size_t entry() const { return at_.entry; }
  std::size_t count() const {
    std::size_t count = end_.entry - at_.entry;
    for (std::size_t b = at_.block; b < end_.block; ++b) count += (*blocks_)[b].count();
    return count;
  }
  void advance() {
    if (++at_.entry < block_->count()) return;
    at_ = {at_.block + 1, 0};
    if (at_ < end_) block_ = &(*blocks_)[at_.block];
  }

 private:
  const std::deque<SortedBatch>* blocks_;
  const SortedBatch* block_;
  Place at_;
  Place end_;
};

// Appends in line order, coalescing unless duplicates are errors. A sum that is not finite stays so, and is found
// later.
template <bool is_wide>
class Appender {
 public:
  Appender(SortedBatch& out, std::size_t max_count, DuplicatePolicy policy)
      : out_(&out), policy_(policy), count_(out.count()) {
    resize(count_ + max_count);
  }
  ~Appender() {
    finish_last();
    resize(count_);
  }
  Appender(const Appender&) = delete;
  Appender& operator=(const Appender&) = delete;

  void add(const SortedBatch& from, std::size_t i) {
    const std::uint64_t low = from.low[i];
    bool same = count_ > 0 && out_->low[count_ - 1] == low && policy_ != DuplicatePolicy::error;
    if constexpr (is_wide) same = same && out_->key[count_ - 1] == from.key[i];
    if (same) {
      double& value = out_->values[count_ - 1];
      if (std::isfinite(value)) value = coalesce_values(policy_, value, from.values[i]);
      ++coalesced_;
      return;
    }
    finish_last();
    out_->low[count_] = low;
    if constexpr (is_wide) out_->key[count_] = from.key[i];
    out_->values[count_++] = from.values[i];
    coalesced_ = 1;
  }

 private:
  void resize(std::size_t count) {
    out_->low.resize(count);
    out_->key.resize(is_wide ? count : 0);
    out_->values.resize(count);
  }
  void finish_last() {
    if (coalesced_ > 1) out_->values[count_ - 1] = finish_coalesce(policy_, out_->values[count_ - 1], coalesced_);
  }

  SortedBatch* out_;
  DuplicatePolicy policy_;
  std::size_t count_;
  std::uint64_t coalesced_ = 0;  // entries in the last one
};

// Merges ranges, which are in input order. `Line` holds a whole line index.
template <class Line>
class RangeMerger {
  static constexpr bool is_wide = sizeof(Line) > 8;

 public:
  explicit RangeMerger(std::vector<Range> ranges) : ranges_(std::move(ranges)) {
    for (std::size_t r = 0; r < ranges_.size(); ++r) add_head(r);
  }

  bool is_at_end() const { return heads_.empty(); }
  std::size_t count() const {
    std::size_t total = 0;
    for (const Range& range : ranges_) total += range.count();
    return total;
  }

  // Appends the next `max_count` entries, or the rest, coalesced.
  void merge(SortedBatch& out, std::size_t max_count, DuplicatePolicy policy) {
    Appender<is_wide> appender(out, max_count, policy);
    for (std::size_t taken = 0; taken < max_count && !heads_.empty(); ++taken) {
      const std::size_t r = heads_.top().second;
      heads_.pop();
      appender.add(ranges_[r].block(), ranges_[r].entry());
      ranges_[r].advance();
      add_head(r);
    }
  }

 private:
  using Head = std::pair<Line, std::size_t>;  // of equal lines, that of the earlier range comes first

  void add_head(std::size_t r) {
    const Range& range = ranges_[r];
    if (range.is_empty()) return;
    Line line = range.block().low[range.entry()];
    if constexpr (is_wide) line |= Line{range.block().key[range.entry()]} << 64;
    heads_.emplace(line, r);
  }

  std::vector<Range> ranges_;
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads_;
};

template <class Line>
class RunMerge final : public SortedRun {
 public:
  RunMerge(const RunStore& store, std::size_t first, std::size_t count, std::unique_ptr<MemoryRun> last,
           const MergeSetup& setup, Executor& executor)
      : store_(&store), last_(std::move(last)), setup_(setup), executor_(&executor), runs_(count + (last_ ? 1 : 0)) {
    for (std::size_t run = 0; run < count; ++run) runs_[run].unread = store.blocks(first + run);
    if (last_) find_blocks_of_last();
    plan_window();
  }

  bool is_coalesced() const override { return setup_.window_blocks > 0 && setup_.policy != DuplicatePolicy::error; }

  bool next(SortedBatch& block) override { return setup_.window_blocks > 0 ? next_part(block) : next_piece(block); }

 private:
  // A block that is needed next.
  struct Planned {
    std::size_t run;
    PackedBlock block;
  };

  bool next_part(SortedBatch& part) {
    while (part_ == parts_.size()) {
      if (window_.empty()) {
        part.clear();
        return false;
      }
      merge_window();
    }
    part = std::exchange(parts_[part_++], {});
    return true;
  }

  bool next_piece(SortedBatch& piece) {
    piece.clear();
    while (piece.count() < run_block_entries && (has_ready() || !window_.empty())) {
      if (has_ready()) {
        merger_->merge(piece, run_block_entries - piece.count(), DuplicatePolicy::error);
      } else {
        if (merger_) drop_merged();
        merger_.reset();
        load_window();
        std::vector<Range> ranges = ranges_of([](const Sequence& run) { return std::pair(run.begin, run.ready); });
        if (!ranges.empty()) merger_.emplace(std::move(ranges));
      }
    }
    return piece.count() > 0;
  }
  bool has_ready() const { return merger_ && !merger_->is_at_end(); }

  void find_blocks_of_last() {
    SortedBatch line;
    for (std::uint64_t first = 0; first < last_->count(); first += run_block_entries) {
      last_->copy(first, 1, line);
      const std::uint64_t count = std::min<std::uint64_t>(run_block_entries, last_->count() - first);
      blocks_of_last_.push_back({line_of(line, 0), first, 0, static_cast<std::uint32_t>(count)});
    }
    runs_.back().unread = blocks_of_last_;
  }

  bool is_on_disk(std::size_t run) const { return !last_ || run + 1 < runs_.size(); }

  // Takes the next blocks in the order in which they are needed, and has the system read them ahead.
  void plan_window() {
    window_.clear();
    while (window_.size() < std::max<std::uint64_t>(1, setup_.window_blocks)) {
      Sequence* next = nullptr;
      for (Sequence& run : runs_) {
        if (!run.unread.empty() && (next == nullptr || run.unread[0].first < next->unread[0].first)) next = &run;
      }
      if (next == nullptr) return;
      window_.push_back({static_cast<std::size_t>(next - runs_.data()), next->unread[0]});
      next->unread = next->unread.subspan(1);
      if (is_on_disk(window_.back().run)) store_->announce(window_.back().block);
    }
  }

  // Decodes the planned blocks, and finds what can be merged before the window behind them is read.
  void load_window() {
    const std::vector<Planned> loaded = std::exchange(window_, {});
    std::vector<SortedBatch*> places;
    for (const Planned& planned : loaded) places.push_back(&runs_[planned.run].blocks.emplace_back());
    executor_->run(loaded.size(), [&](std::size_t i) {
      const auto& [run, block] = loaded[i];
      is_on_disk(run) ? store_->read(block, *places[i]) : last_->copy(block.offset, block.count, *places[i]);
    });
    cuts_.clear();
    for (const auto& [run, block] : loaded) {
      cuts_.push_back(block.first);
      if (is_on_disk(run)) release(runs_[run], block);
    }
    plan_window();
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      Sequence& run = runs_[r];
      // Of equal lines, those of earlier runs need not wait for the next block; where threads coalesce, they stay
      // together.
      run.ready = window_.empty() ? Place{run.blocks.size(), 0}
                                  : find_place(run, window_[0].block.first, !is_coalesced() && r <= window_[0].run);
    }
  }

  void release(Sequence& run, const PackedBlock& block) const {
    if (run.read == 0) run.released = block.offset;
    run.read = block.offset + block.bytes;
    if (run.read - run.released < release_step_bytes && !run.unread.empty()) return;
    store_->release(run.released, run.read - run.released);
    run.released = run.read;
  }

  void merge_window() {
    load_window();
    const std::size_t count = window_parts_per_thread * static_cast<std::size_t>(executor_->width());
    parts_.assign(count, {});
    part_ = 0;
    executor_->run(count, [&](std::size_t part) { merge_part(part, count); });
    std::erase_if(parts_, [](const SortedBatch& part) { return part.count() == 0; });
    drop_merged();
  }

  // The parts of a window are cut at first lines of its blocks, which lie about evenly among its entries.
  void merge_part(std::size_t part, std::size_t count) {
    const auto cut = [&](const Sequence& run, std::size_t at) {
      if (at == 0) return run.begin;
      if (at == count) return run.ready;
      return std::min(find_place(run, cuts_[cuts_.size() * at / count], false), run.ready);
    };
    std::vector<Range> ranges =
        ranges_of([&](const Sequence& run) { return std::pair(cut(run, part), cut(run, part + 1)); });
    if (ranges.empty()) return;
    RangeMerger<Line> merger(std::move(ranges));
    merger.merge(parts_[part], merger.count(), setup_.policy);
  }

  // Those that are not empty; bounds(run) gives begin and end.
  template <class Bounds>
  std::vector<Range> ranges_of(const Bounds& bounds) const {
    std::vector<Range> ranges;
    for (const Sequence& run : runs_) {
      const auto [begin, end] = bounds(run);
      if (begin < end) ranges.emplace_back(run, begin, end);
    }
    return ranges;
  }

  void drop_merged() {
    for (Sequence& run : runs_) {
      run.blocks.erase(run.blocks.begin(), run.blocks.begin() + static_cast<std::ptrdiff_t>(run.ready.block));
      run.begin = run.ready = {0, run.ready.entry};
    }
  }

  const RunStore* store_;
  std::unique_ptr<MemoryRun> last_;
  std::vector<PackedBlock> blocks_of_last_;  // `offset` counts entries
  MergeSetup setup_;
  Executor* executor_;
  std::vector<Sequence> runs_;
  std::vector<Planned> window_;              // to be read next
  std::vector<LineIndex> cuts_;              // first lines of the blocks read last
  std::vector<SortedBatch> parts_;           // with windows: merged
  std::size_t part_ = 0;                     // the next to be handed on
  std::optional<RangeMerger<Line>> merger_;  // without: of what is ready
};

}  // namespace

std::unique_ptr<SortedRun> merge_runs(const RunStore& store, std::size_t first, std::size_t count,
                                      std::unique_ptr<MemoryRun> last, const MergeSetup& setup, Executor& executor) {
  if (store.has_high_word()) {
    return std::make_unique<RunMerge<WideLine>>(store, first, count, std::move(last), setup, executor);
  }
  return std::make_unique<RunMerge<std::uint64_t>>(store, first, count, std::move(last), setup, executor);
}

bool lines_fit_window(const RunStore& store, std::uint64_t window_blocks) {
  std::vector<LineIndex> firsts;
  for (std::size_t run = 0; run < store.run_count(); ++run) {
    for (const PackedBlock& block : store.blocks(run)) firsts.push_back(block.first);
  }
  std::ranges::sort(firsts);
  for (std::size_t b = 0; b + window_blocks / 2 < firsts.size(); ++b) {
    if (firsts[b] == firsts[b + window_blocks / 2]) return false;
  }
  return true;
}

}  // namespace blco
