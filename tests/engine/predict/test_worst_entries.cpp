// The worst entries against a stable sort of all.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "engine/predict/worst_entries.hpp"

namespace blco {
namespace {

class HowMany : public testing::TestWithParam<std::uint64_t> {};

TEST_P(HowMany, AreThoseOfAStableSort) {
  std::mt19937_64 random(11);
  std::vector<double> deviances;
  // Few distinct numbers, so that most are ties.
  for (int i = 0; i < 1000; ++i) deviances.push_back(static_cast<double>(random() % 20));
  deviances[500] = deviances[900] = std::numeric_limits<double>::infinity();

  WorstEntries worst(2, GetParam());
  for (std::uint64_t i = 0; i < deviances.size(); ++i) {
    worst.add(std::vector<std::uint64_t>{i, i + 7}, static_cast<double>(i), -static_cast<double>(i), deviances[i]);
  }
  const auto sorted = worst.sort();

  std::vector<std::size_t> expected(deviances.size());
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = i;
  std::ranges::stable_sort(expected, [&](std::size_t a, std::size_t b) { return deviances[a] > deviances[b]; });
  ASSERT_EQ(sorted.size(), std::min<std::size_t>(GetParam(), deviances.size()));
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    EXPECT_EQ(worst.point(sorted[i])[0], expected[i]) << i;
    EXPECT_EQ(worst.point(sorted[i])[1], expected[i] + 7) << i;
    EXPECT_EQ(sorted[i].deviance, deviances[expected[i]]);
    EXPECT_EQ(sorted[i].value, static_cast<double>(expected[i]));
    EXPECT_EQ(sorted[i].model, -static_cast<double>(expected[i]));
  }
}

INSTANTIATE_TEST_SUITE_P(WorstEntries, HowMany, testing::Values(1, 2, 31, 999, 1000, 1001, 5000));

}  // namespace
}  // namespace blco
