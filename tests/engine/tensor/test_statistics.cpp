// Statistics of a tensor against counts made from its coordinates; the same for any threads and budget.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <blco/ingest.hpp>
#include <blco/memory_tensor.hpp>
#include <blco/statistics.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "engine/tensor/value_counts.hpp"
#include "tests/engine/coordinate_tensor.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

class Statistics : public testing::Test {
 protected:
  // Writes a tensor with chunks of 500 nonzeros, and keeps what it should hold.
  void ingest(const CoordinateTensor& tensor) {
    cells_ = summed(tensor);
    shape_ = tensor.shape;
    IngestOptions options;
    options.shape = tensor.shape;
    options.chunk_nnz = 500;
    ingest_files({folder_.write("t.tns", as_text(tensor))}, path_, options);
  }

  // Nonzeros per slice, from the coordinates.
  std::vector<std::uint64_t> slices(std::size_t mode) const {
    std::vector<std::uint64_t> counts(shape_[mode]);
    for (const auto& [point, value] : cells_) ++counts[point[mode]];
    std::ranges::sort(counts);
    return counts;
  }

  void expect_slices(const TensorStatistics& actual) const {
    ASSERT_EQ(actual.modes.size(), shape_.size());
    for (std::size_t n = 0; n < shape_.size(); ++n) {
      const std::vector<std::uint64_t> counts = slices(n);
      const SliceStatistics& mode = actual.modes[n];
      EXPECT_EQ(mode.slices, shape_[n]);
      EXPECT_EQ(mode.minimum, counts.front());
      EXPECT_EQ(mode.maximum, counts.back());
      EXPECT_EQ(mode.empty, static_cast<std::uint64_t>(std::ranges::count(counts, 0u)));
      const std::size_t size = counts.size();
      EXPECT_EQ(mode.median, static_cast<double>(counts[(size - 1) / 2] + counts[size / 2]) / 2);
      EXPECT_DOUBLE_EQ(mode.mean, static_cast<double>(cells_.size()) / static_cast<double>(shape_[n]));
      for (const SliceBucket& bucket : mode.histogram) {
        const auto inside = [&](std::uint64_t count) { return count >= bucket.min && count <= bucket.max; };
        EXPECT_EQ(bucket.slices, static_cast<std::uint64_t>(std::ranges::count_if(counts, inside)))
            << "mode " << n << ", slices with " << bucket.min << " to " << bucket.max;
      }
    }
  }

  TensorStatistics measure(std::uint64_t host_bytes = 0, int threads = 2) const {
    return measure_statistics(TensorFile(path_), {.host_bytes = host_bytes}, threads);
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "t.blco";
  std::vector<std::uint64_t> shape_;
  std::map<Point, double> cells_;
};

TEST_F(Statistics, CountsNonzerosOfEverySlice) {
  // A short mode, one with empty slices, and one that is longer than what workers count for themselves.
  ingest(random_coordinates({.shape = {7, 5000, 9000}, .nnz = 4000, .seed = 3, .counts = true}));

  const TensorStatistics statistics = measure();

  expect_slices(statistics);
  EXPECT_EQ(statistics.passes, 1);
}

TEST_F(Statistics, CountsCoordinatesWhoseLineIndicesHaveAKey) {
  ingest(random_coordinates({.shape = {1 << 20, 300, 1 << 20, 1 << 18}, .nnz = 2000, .seed = 4}));

  expect_slices(measure());
}

TEST_F(Statistics, AreTheSameForAnyThreadsAndAnyBudgetThatIsKept) {
  ingest(random_coordinates({.shape = {400'000, 70'000, 30}, .nnz = 5000, .seed = 5}));
  const TensorStatistics ample = measure();

  const TensorStatistics tight = measure(std::uint64_t{11} << 20, 1);

  EXPECT_EQ(ample.passes, 1);
  EXPECT_GT(tight.passes, 1) << "the budget is to hold a part of the counters";
  expect_slices(tight);
  EXPECT_EQ(tight.values.mean, ample.values.mean);
  EXPECT_EQ(tight.values.histogram, ample.values.histogram);
  for (const int threads : {1, 3}) EXPECT_EQ(measure(0, threads).values.mean, ample.values.mean);
}

TEST_F(Statistics, NamesTheLeastBudget) {
  ingest(random_coordinates({.shape = {40, 50, 30}, .nnz = 500, .seed = 6}));

  const std::string message = message_of_error(ErrorKind::out_of_memory, [&] { measure(1 << 20); });

  EXPECT_THAT(message, testing::HasSubstr("give at least `host_bytes = "));
}

TEST_F(Statistics, DescribeValues) {
  const std::vector<double> values = {-3, 0.25, 8, 1, 1, -0.0, 15.5, 1e-300, 4, -2.5};
  CoordinateTensor tensor{{values.size(), 2}, {}, values};
  for (std::uint64_t i = 0; i < values.size(); ++i) tensor.points.push_back({i, i % 2});
  ingest(tensor);

  const ValueStatistics actual = measure().values;

  EXPECT_EQ(actual.minimum, -3);
  EXPECT_EQ(actual.maximum, 15.5);
  EXPECT_DOUBLE_EQ(actual.mean, (-3 + 0.25 + 8 + 1 + 1 + 15.5 + 4 - 2.5) / 10);
  EXPECT_FALSE(actual.whole_numbers);
  EXPECT_EQ(actual.distinct, 9u);
  EXPECT_FALSE(actual.more_distinct);
  const double tiny = std::ldexp(1.0, std::ilogb(1e-300));
  EXPECT_THAT(actual.histogram,
              testing::ElementsAre(ValueBucket{-2, -4, 2}, ValueBucket{0, 0, 1}, ValueBucket{tiny, 2 * tiny, 1},
                                   ValueBucket{0.25, 0.5, 1}, ValueBucket{1, 2, 2}, ValueBucket{4, 8, 1},
                                   ValueBucket{8, 16, 2}));
}

TEST_F(Statistics, KnowATensorOfOnes) {
  CoordinateTensor tensor{{600, 2}, {}, std::vector<double>(600, 1.0)};
  for (std::uint64_t i = 0; i < 600; ++i) tensor.points.push_back({i, 0});
  ingest(tensor);

  const ValueStatistics actual = measure().values;

  EXPECT_TRUE(actual.whole_numbers);
  EXPECT_EQ(actual.distinct, 1u);
  EXPECT_EQ(actual.mean, 1);
  EXPECT_THAT(actual.histogram, testing::ElementsAre(ValueBucket{1, 2, 600}));
}

TEST_F(Statistics, CanBeCancelled) {
  ingest(random_coordinates({.shape = {40, 50, 30}, .nnz = 2000, .seed = 6}));
  std::vector<Progress> seen;
  const auto watch = [&](const Progress& progress) {
    seen.push_back(progress);
    return false;
  };

  expect_error(ErrorKind::cancelled, "stage \"measure\"", [&] { measure_statistics(TensorFile(path_), {}, 2, watch); });

  ASSERT_EQ(seen.size(), 1u);
  EXPECT_STREQ(seen[0].stage, "measure");
  EXPECT_GT(seen[0].nonzeros, 0u);
}

TEST(ValueCounts, CountUpToAThousandDistinctValuesHoweverTheyAreShared) {
  for (const std::uint64_t distinct : {max_distinct_values, max_distinct_values + 1}) {
    ValueCounts a;
    ValueCounts b;
    for (std::uint64_t i = 0; i < 3 * distinct; ++i) {
      const double value = static_cast<double>(i % distinct) / 8;
      (i % 3 == 0 ? a : b).add(std::span(&value, 1));
    }

    a.add_all(b);

    EXPECT_EQ(a.result().distinct, max_distinct_values);
    EXPECT_EQ(a.result().more_distinct, distinct > max_distinct_values);
  }
}

TEST(ValueCounts, HoldTheSmallestAndTheLargestNumbers) {
  const std::vector<double> values = {std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max(),
                                      -std::numeric_limits<double>::max(), 0x1p-1074 * 3};
  ValueCounts counts;

  counts.add(values);

  const ValueStatistics result = counts.result();
  ASSERT_EQ(result.histogram.size(), 4u);
  EXPECT_EQ(result.histogram[0].lower, -0x1p1023);
  EXPECT_EQ(result.histogram[1], (ValueBucket{0x1p-1074, 0x1p-1073, 1}));
  EXPECT_EQ(result.histogram[2], (ValueBucket{0x1p-1073, 0x1p-1072, 1}));
  EXPECT_EQ(result.histogram[3].lower, 0x1p1023);
}

TEST(CountDistribution, IsExactForCountsBeyondItsTable) {
  std::vector<std::uint64_t> counts = {70'000, 3, 65'536, 1'000'000'000'000, 65'535, 70'000};
  CountDistribution distribution;

  distribution.add(counts);

  const SliceStatistics result = distribution.result();
  EXPECT_EQ(result.minimum, 3u);
  EXPECT_EQ(result.maximum, 1'000'000'000'000u);
  EXPECT_EQ(result.median, (65'536 + 70'000) / 2.0);
  EXPECT_EQ(result.histogram.front(), (SliceBucket{2, 3, 1}));
  EXPECT_EQ(result.histogram[15], (SliceBucket{65'536, 131'071, 3}));
}

TEST(SliceWindows, CoverEveryCoordinateOnce) {
  const std::vector<std::uint64_t> shape = {10, 3, 25};

  const auto passes = plan_windows(shape, 8);

  std::vector<std::set<std::uint64_t>> seen(shape.size());
  for (const auto& pass : passes) {
    std::uint64_t counters = 0;
    for (const SliceWindow& window : pass) {
      counters += window.length;
      for (std::uint64_t i = 0; i < window.length; ++i) {
        EXPECT_TRUE(seen[window.mode].insert(window.first + i).second);
      }
    }
    EXPECT_LE(counters, 8u);
  }
  for (std::size_t n = 0; n < shape.size(); ++n) EXPECT_EQ(seen[n].size(), shape[n]);
}

TEST(StatisticsOfLongModes, AreRefused) {
  const std::vector<std::uint64_t> far = {0, std::uint64_t{1} << 63};
  const std::vector<double> values = {1, 2};
  const MemoryTensor tensor({.coordinates = {far}, .values = values});
  const MemoryBudget budget{.host_bytes = std::uint64_t{100} << 20};

  expect_error(ErrorKind::out_of_memory, "more than 4096 passes", [&] { measure_statistics(tensor, budget); });
}

}  // namespace
}  // namespace blco
