// The sort of lines against std::stable_sort.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "engine/common/thread_pool.hpp"
#include "engine/ingest/sort/line_sort.hpp"

namespace blco {
namespace {

template <typename Entry>
std::vector<Entry> random_entries(std::size_t count, std::uint64_t mask) {
  std::mt19937_64 random(count);
  std::vector<Entry> entries(count);
  for (std::size_t i = 0; i < count; ++i) {
    entries[i].low = random() & mask;
    if constexpr (std::is_same_v<Entry, WideEntry>) entries[i].high = random() & 3;
    entries[i].value = static_cast<double>(i);  // tells equal lines apart
  }
  return entries;
}

std::uint64_t key(const NarrowEntry&) { return 0; }
std::uint64_t key(const WideEntry& entry) { return entry.high; }

template <typename Entry>
void expect_sorted(std::size_t count, std::uint64_t mask, int line_bits, int threads, std::size_t offset = 0) {
  ThreadPool pool(threads);
  auto entries = random_entries<Entry>(count, mask);
  auto expected = entries;
  std::stable_sort(expected.begin(), expected.end(),
                   [](const Entry& a, const Entry& b) { return std::pair(key(a), a.low) < std::pair(key(b), b.low); });
  constexpr std::size_t parts = 3;
  const auto visit = [&](std::size_t part, const auto& sink) {
    for (std::size_t i = count * part / parts; i < count * (part + 1) / parts; ++i) {
      sink(std::span<const Entry>(entries).subspan(i, 1));
    }
  };
  // Lines of memory begin anywhere in it.
  std::vector<Entry> room(count + offset);
  std::vector<Entry> scratch(count);
  const std::span<Entry> sorted = std::span(room).subspan(offset);

  const Digit digit = first_digit(count, line_bits);
  const auto buckets = scatter_by_digit(parts, visit, sorted, digit, pool);
  sort_buckets<Entry>(sorted, scratch, buckets, digit.from, pool);

  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(sorted[i].low, expected[i].low);
    ASSERT_EQ(key(sorted[i]), key(expected[i]));
    ASSERT_EQ(sorted[i].value, expected[i].value) << "equal lines changed places at " << i;
  }
}

TEST(LineSort, IsStableForEverySizeWidthAndNumberOfThreads) {
  for (const int threads : {1, 2, 3}) {
    for (const std::size_t count : {0ul, 1ul, 2ul, 3ul, 257ul, 5000ul}) {
      expect_sorted<NarrowEntry>(count, 0, 0, threads);
      expect_sorted<NarrowEntry>(count, 7, 3, threads);
      expect_sorted<NarrowEntry>(count, 0xff00ff, 24, threads);
      expect_sorted<NarrowEntry>(count, ~std::uint64_t{0}, 64, threads);
      expect_sorted<WideEntry>(count, ~std::uint64_t{0}, 66, threads);
      expect_sorted<WideEntry>(count, 1, 128, threads);
    }
  }
}

// Beyond what is sorted in a cache, on all threads; lines that crowd together go on several levels.
TEST(LineSort, IsStableForManyEntriesHoweverTheyCrowd) {
  const std::pair<std::size_t, int> sizes_and_threads[] = {{32768, 3}, {32769, 1}, {140'000, 3}};
  for (const auto& [count, threads] : sizes_and_threads) {
    for (const std::uint64_t mask : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{0xfff}, ~std::uint64_t{0},
                                     std::uint64_t{0xffffff} << 40 | 1, (std::uint64_t{1} << 63) | 0xfffff}) {
      expect_sorted<NarrowEntry>(count, mask, 64, threads);
      expect_sorted<WideEntry>(count, mask, 128, threads);
    }
  }
}

// Whatever place a line of memory begins at.
TEST(LineSort, IsStableWhereverItsResultBegins) {
  for (const std::size_t offset : {1ul, 2ul, 3ul, 4ul, 5ul, 6ul, 7ul}) {
    expect_sorted<NarrowEntry>(70'000, 0xffffff, 24, 2, offset);
    expect_sorted<WideEntry>(70'000, 0xffffff, 66, 2, offset);
  }
}

}  // namespace
}  // namespace blco
