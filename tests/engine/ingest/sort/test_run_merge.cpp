// Merging, on all threads by windows and on one, against a map that coalesces in input order.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>

#include "engine/common/thread_pool.hpp"
#include "engine/ingest/sort/coalesce.hpp"
#include "engine/ingest/sort/run_builder.hpp"
#include "engine/ingest/sort/run_merge.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

constexpr std::size_t run_entries = 30'000;  // some blocks, and part of one

using Coalesced = std::map<std::pair<std::uint64_t, std::uint64_t>, double>;

class RunMergeTest : public testing::Test {
 protected:
  std::unique_ptr<MemoryRun> make_run(const TensorLayout& layout, std::uint64_t first, std::uint64_t length) {
    CoordinateBatch batch;
    batch.order = 2;
    for (std::size_t i = 0; i < run_entries; ++i) {
      const std::vector<std::uint64_t> point = {first + random_() % length, random_() % layout.shape()[1]};
      batch.wide.insert(batch.wide.end(), point.begin(), point.end());
      batch.values.push_back(std::normal_distribution<double>()(random_));
      const LineIndex line = layout.linearize(point);
      const auto [at, fresh] = expected_.try_emplace({line.key, line.low}, batch.values.back());
      if (!fresh) at->second += batch.values.back();
    }
    batch.upper = {first + length - 1, layout.shape()[1] - 1};
    RunBuilder builder;
    builder.add(std::move(batch));
    return builder.finish(layout, pool_);
  }

  void store_run(const TensorLayout& layout, std::uint64_t first, std::uint64_t length) {
    store_->append(*make_run(layout, first, length), pool_, [](std::uint64_t) {});
  }

  Coalesced merged(const TensorLayout& layout, std::unique_ptr<MemoryRun> last, std::uint64_t window_blocks,
                   int threads) {
    ThreadPool pool(threads);
    const auto source = coalesce_run(
        merge_runs(*store_, 0, store_->run_count(), std::move(last), {DuplicatePolicy::sum, window_blocks}, pool),
        DuplicatePolicy::sum, {layout});
    Coalesced found;
    SortedPart part;
    std::pair<std::uint64_t, std::uint64_t> before;
    while (source->next(part, 777)) {
      const SortedBatch& batch = part.entries;
      EXPECT_EQ(part.count, batch.count());
      for (std::size_t i = 0; i < batch.count(); ++i) {
        const std::pair line(layout.has_high_word() ? batch.key[i] : 0, batch.low[i]);
        EXPECT_TRUE(found.empty() || before < line) << "out of order, or twice";
        before = line;
        found[line] = batch.values[i];
      }
    }
    return found;
  }

  void make_store(bool has_high_word) { store_ = std::make_unique<RunStore>(folder_.path(), "test", has_high_word); }

  std::mt19937_64 random_{31};
  ThreadPool pool_{2};
  TemporaryFolder folder_;
  std::unique_ptr<RunStore> store_;
  Coalesced expected_;
};

TEST_F(RunMergeTest, CoalescesInInputOrderForEveryWindowAndNumberOfThreads) {
  for (const std::vector<std::uint64_t>& shape : {std::vector<std::uint64_t>{1000, 300}, {1ull << 40, 1ull << 30}}) {
    const TensorLayout layout(shape);
    const std::pair<std::uint64_t, int> cases[] = {{0, 1}, {1, 3}, {7, 1}, {7, 3}, {500, 3}};
    for (const auto& [window, threads] : cases) {
      make_store(layout.has_high_word());
      expected_.clear();
      for (int run = 0; run < 3; ++run) store_run(layout, 0, shape[0]);
      auto last = make_run(layout, 0, shape[0]);

      EXPECT_TRUE(merged(layout, std::move(last), window, threads) == expected_)
          << "window " << window << ", " << threads << " threads, " << layout.line_bits() << " bits";
    }
  }
}

// What comes sorted gives runs that do not overlap: a window is of one run.
TEST_F(RunMergeTest, MergesRunsThatDoNotOverlap) {
  const std::vector<std::uint64_t> shape = {10'000, 200};
  const TensorLayout layout(shape);
  for (const std::uint64_t window : {0, 5}) {
    make_store(false);
    expected_.clear();
    for (std::uint64_t run = 0; run < 4; ++run) store_run(layout, 2500 * run, 2500);

    EXPECT_TRUE(merged(layout, nullptr, window, 2) == expected_) << window;
  }
}

// Lines that fill many blocks of every run: one thread still keeps their order, and a block of each run.
TEST_F(RunMergeTest, OneThreadMergesAnyNumberOfEqualLines) {
  const TensorLayout layout(std::vector<std::uint64_t>{1, 3});
  make_store(false);
  for (int run = 0; run < 5; ++run) store_run(layout, 0, 1);

  EXPECT_TRUE(merged(layout, make_run(layout, 0, 1), 0, 1) == expected_);
}

TEST_F(RunMergeTest, OneThreadHandsOutWholeBlocks) {
  const TensorLayout layout(std::vector<std::uint64_t>{1000, 1000});
  make_store(false);
  for (int run = 0; run < 3; ++run) store_run(layout, 0, 1000);
  SerialExecutor executor;
  const auto run = merge_runs(*store_, 1, 2, nullptr, {}, executor);

  std::size_t left = 2 * run_entries;
  SortedBatch block;
  while (run->next(block)) {
    EXPECT_EQ(block.count(), std::min(left, run_block_entries));
    left -= block.count();
  }

  EXPECT_EQ(left, 0);
  EXPECT_EQ(block.count(), 0);
}

// Runs on disk that become one are read as the runs that they were.
TEST_F(RunMergeTest, MergesNeighboursOnDisk) {
  const TensorLayout layout(std::vector<std::uint64_t>{1ull << 40, 1ull << 30});
  make_store(true);
  for (int run = 0; run < 4; ++run) store_run(layout, 0, 500);

  store_->merge(1, 2, pool_, [](std::uint64_t) {});

  EXPECT_EQ(store_->run_count(), 3);
  EXPECT_TRUE(merged(layout, nullptr, 0, 1) == expected_);
}

TEST_F(RunMergeTest, WindowsHoldLinesUnlessEqualOnesFillManyBlocks) {
  constexpr std::uint64_t window = 64;
  const TensorLayout few(std::vector<std::uint64_t>{1, 2});
  const TensorLayout many(std::vector<std::uint64_t>{1000, 1000});
  make_store(false);
  for (int run = 0; run < 8; ++run) store_run(many, 0, 1000);
  EXPECT_TRUE(lines_fit_window(*store_, window));

  make_store(false);
  for (int run = 0; run < 40; ++run) store_run(few, 0, 1);
  EXPECT_FALSE(lines_fit_window(*store_, window));
}

// Lines with the number of their run as value, so that the order of equal ones shows.
class ListedRun final : public MemoryRun {
 public:
  ListedRun(std::vector<LineIndex> lines, double value) : lines_(std::move(lines)), value_(value) {}

  std::uint64_t count() const override { return lines_.size(); }
  void coalesce(EarlyCoalescing&, Executor&) override {}
  std::optional<LineIndex> coalesce_all(DuplicatePolicy, Executor&) override { return std::nullopt; }
  void copy(std::uint64_t first, std::uint64_t entries, SortedBatch& block) const override {
    block.clear();
    for (std::uint64_t i = first; i < first + entries; ++i) {
      block.low.push_back(lines_[i].low);
      block.key.push_back(lines_[i].key);
      block.values.push_back(value_ + static_cast<double>(i) / 16'384);
    }
  }

 private:
  std::vector<LineIndex> lines_;
  double value_;
};

// Of equal lines there are more than a block holds, in one run and over all of them.
TEST_F(RunMergeTest, GivesAStableSortOfAllRunsInTheirOrder) {
  for (const std::size_t run_count : {1, 2, 3, 4, 5, 7, 8, 9, 33}) {
    using Entry = std::pair<LineIndex, double>;
    std::vector<Entry> expected;
    make_store(true);
    std::unique_ptr<ListedRun> last;
    for (std::size_t r = 0; r < run_count; ++r) {
      std::vector<LineIndex> lines(random_() % 2 == 0 ? random_() % 40 : 300 + random_() % 15'000);
      for (LineIndex& line : lines) {
        line = {random_() % 3, random_() % 7};
        // The largest line there is, which must not be taken for an end.
        if (random_() % 5 == 0) line = {~std::uint64_t{0}, ~std::uint64_t{0}};
      }
      std::sort(lines.begin(), lines.end());
      for (std::size_t i = 0; i < lines.size(); ++i) {
        expected.emplace_back(lines[i], static_cast<double>(r) + static_cast<double>(i) / 16'384);
      }
      last = std::make_unique<ListedRun>(lines, static_cast<double>(r));
      if (r + 1 < run_count) store_->append(*last, pool_, [](std::uint64_t) {});
    }
    std::stable_sort(expected.begin(), expected.end(),
                     [](const Entry& a, const Entry& b) { return a.first < b.first; });

    const auto merged = merge_runs(*store_, 0, run_count - 1, std::move(last), {}, pool_);
    std::vector<Entry> actual;
    for (SortedBatch block; merged->next(block);) {
      for (std::size_t i = 0; i < block.count(); ++i) actual.push_back({{block.key[i], block.low[i]}, block.values[i]});
    }

    EXPECT_TRUE(actual == expected) << run_count << " runs";
  }
}

}  // namespace
}  // namespace blco
