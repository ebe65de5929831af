// Coalescing of a run in memory, on any number of threads, against a map filled in input order.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "blco/error.hpp"
#include "blco/layout.hpp"
#include "engine/common/thread_pool.hpp"
#include "engine/ingest/sort/coalesce.hpp"
#include "engine/ingest/sort/run_builder.hpp"

namespace blco {
namespace {

struct Entry {
  std::uint64_t row;
  double value;
};

// Order 2, of up to 64 bits and of more; the second coordinate follows from the first.
const std::vector<TensorLayout>& layouts() {
  static const std::vector<TensorLayout> layouts{TensorLayout(std::vector<std::uint64_t>{1000, 1}),
                                                 TensorLayout(std::vector<std::uint64_t>{1000, 1ull << 62})};
  return layouts;
}

std::uint64_t second(std::uint64_t row, const TensorLayout& layout) {
  return layout.has_high_word() ? (row % 2) << 61 | row : 0;
}

std::unique_ptr<MemoryRun> make_run(const std::vector<Entry>& entries, const TensorLayout& layout, Executor& executor) {
  CoordinateBatch batch;
  batch.order = 2;
  batch.upper = {999, layout.shape()[1] - 1};
  for (const Entry& entry : entries) {
    batch.wide.push_back(entry.row);
    batch.wide.push_back(second(entry.row, layout));
    batch.values.push_back(entry.value);
  }
  RunBuilder builder;
  builder.add(std::move(batch));
  return builder.finish(layout, executor);
}

std::map<std::uint64_t, double> coalesced(const std::vector<Entry>& entries, DuplicatePolicy policy, int threads,
                                          const TensorLayout& layout) {
  ThreadPool pool(threads);
  const auto source = coalesce_in_memory(make_run(entries, layout, pool), policy, {layout, 1}, pool);
  std::map<std::uint64_t, double> found;
  LineIndex before;
  for (SortedPart part; source->next(part, 70);) {
    source->fetch(part);
    EXPECT_EQ(part.entries.count(), part.count);
    for (std::size_t i = 0; i < part.count; ++i) {
      const LineIndex line{layout.has_high_word() ? part.entries.key[i] : 0, part.entries.low[i]};
      EXPECT_TRUE(found.empty() || before < line) << "out of order, or twice";
      before = line;
      std::array<std::uint64_t, 2> point{};
      layout.delinearize(line, point);
      EXPECT_EQ(point[1], second(point[0], layout));
      found[point[0]] = part.entries.values[i];
    }
  }
  return found;
}

// Few rows have nearly all entries, so that their lines reach over several threads' parts.
std::vector<Entry> skewed_entries(std::size_t count) {
  std::mt19937_64 random(7);
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t row = random() % 4 == 0 ? random() % 1000 : random() % 3;
    entries.push_back({row, std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 9) - 60)});
  }
  return entries;
}

TEST(FoldInMemory, EveryPolicyCoalescesInInputOrder) {
  const std::vector<Entry> entries = skewed_entries(20000);
  for (const auto policy : {DuplicatePolicy::sum, DuplicatePolicy::first, DuplicatePolicy::last, DuplicatePolicy::max,
                            DuplicatePolicy::mean}) {
    std::map<std::uint64_t, double> expected;
    std::map<std::uint64_t, double> number;
    for (const Entry& entry : entries) {
      ++number[entry.row];
      const auto [at, fresh] = expected.try_emplace(entry.row, entry.value);
      if (fresh || policy == DuplicatePolicy::first) continue;
      if (policy == DuplicatePolicy::sum || policy == DuplicatePolicy::mean) at->second += entry.value;
      if (policy == DuplicatePolicy::last) at->second = entry.value;
      if (policy == DuplicatePolicy::max && entry.value > at->second) at->second = entry.value;
    }
    if (policy == DuplicatePolicy::mean) {
      for (auto& [row, value] : expected) value /= number[row];
    }
    for (const TensorLayout& layout : layouts()) {
      for (const int threads : {1, 2, 3, 8})
        EXPECT_EQ(coalesced(entries, policy, threads, layout), expected) << threads;
    }
  }
}

TEST(FoldInMemory, OneLineTakesAllParts) {
  const std::vector<Entry> entries(5000, {17, 1.0});
  for (const int threads : {1, 4}) {
    for (const TensorLayout& layout : layouts()) {
      EXPECT_EQ(coalesced(entries, DuplicatePolicy::sum, threads, layout),
                (std::map<std::uint64_t, double>{{17, 5000.0}}));
    }
  }
}

std::string refusal(const std::vector<Entry>& entries, DuplicatePolicy policy, int threads) {
  try {
    coalesced(entries, policy, threads, layouts()[0]);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  return "accepted";
}

TEST(FoldInMemory, NamesTheFirstLineThatCannotBeCoalesced) {
  std::vector<Entry> entries;
  for (std::uint64_t row = 0; row < 1000; ++row) entries.push_back({row, 1.0});
  EXPECT_EQ(refusal(entries, DuplicatePolicy::error, 4), "accepted");
  for (const std::uint64_t row : {900, 321, 600}) entries.push_back({row, 1.0});
  for (const int threads : {1, 4}) {
    EXPECT_NE(refusal(entries, DuplicatePolicy::error, threads).find("(322, 1) occur more than once"),
              std::string::npos);
  }
  const double max = std::numeric_limits<double>::max();
  for (const std::uint64_t row : {800, 800, 450, 450}) entries.push_back({row, max});
  for (const int threads : {1, 4}) {
    EXPECT_NE(refusal(entries, DuplicatePolicy::sum, threads).find("(451, 1) sum to more"), std::string::npos);
  }
}

}  // namespace
}  // namespace blco
