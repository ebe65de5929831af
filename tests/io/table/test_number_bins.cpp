// Bins of numbers: edges and labels worked by hand, and quantiles against all ways to cut.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "io/table/computed_field.hpp"
#include "io/table/number_bins.hpp"

namespace blco {
namespace {

using testing::ElementsAre;

std::vector<std::string> labels_of(const NumberBins& bins) {
  std::vector<std::string> labels;
  for (std::uint64_t i = 0; i < bins.size(); ++i) labels.push_back(bins.label(i));
  return labels;
}

NumberBins quantiles_of(const std::vector<double>& numbers, const std::vector<std::uint64_t>& rows,
                        std::uint64_t count) {
  return NumberBins::of_quantiles(numbers, rows, count);
}

TEST(NumberBins, HaveEqualWidthsAndRoundEdges) {
  const NumberBins tens = NumberBins::of_equal_width(0, 1, 10);
  const NumberBins four = NumberBins::of_equal_width(0, 10, 4);

  EXPECT_THAT(labels_of(four), ElementsAre("[0, 2.5)", "[2.5, 5)", "[5, 7.5)", "[7.5, 10]"));
  EXPECT_EQ(tens.label(2), "[0.2, 0.3)");
  EXPECT_EQ(four.bin_of(0), 0u);
  EXPECT_EQ(four.bin_of(std::nextafter(2.5, 0)), 0u);
  EXPECT_EQ(four.bin_of(2.5), 1u);
  EXPECT_EQ(four.bin_of(7.5), 3u);
  EXPECT_EQ(four.bin_of(10), 3u);
}

TEST(NumberBins, AreFewerWhereNumbersAreEqualOrNear) {
  const double next = std::nextafter(1.0, 2);

  EXPECT_THAT(labels_of(NumberBins::of_equal_width(5, 5, 20)), ElementsAre("[5, 5]"));
  EXPECT_EQ(NumberBins::of_equal_width(1, next, 20).size(), 1u);
  EXPECT_EQ(NumberBins::of_equal_width(5, 5, 20).bin_of(5), 0u);
}

TEST(NumberBins, HoldTheLargestDoubles) {
  constexpr double largest = std::numeric_limits<double>::max();

  const NumberBins bins = NumberBins::of_equal_width(-largest, largest, 4);

  ASSERT_EQ(bins.size(), 4u);
  EXPECT_EQ(bins.bin_of(-largest), 0u);
  EXPECT_EQ(bins.bin_of(-1e300), 1u);
  EXPECT_EQ(bins.bin_of(1e300), 2u);
  EXPECT_EQ(bins.bin_of(largest), 3u);
}

TEST(NumberBins, OfQuantilesHaveEqualNumbersOfRows) {
  EXPECT_THAT(labels_of(quantiles_of({1, 2, 3, 4, 5, 6, 7, 8}, {1, 1, 1, 1, 1, 1, 1, 1}, 4)),
              ElementsAre("[1, 3)", "[3, 5)", "[5, 7)", "[7, 8]"));
  // Half of all rows have the number 0, which is not split.
  EXPECT_THAT(labels_of(quantiles_of({0, 1, 2, 3}, {6, 2, 2, 2}, 4)), ElementsAre("[0, 1)", "[1, 2)", "[2, 3]"));
  EXPECT_THAT(labels_of(quantiles_of({7}, {100}, 5)), ElementsAre("[7, 7]"));
  EXPECT_THAT(labels_of(quantiles_of({1, 2}, {1, 1}, 2)), ElementsAre("[1, 2)", "[2, 2]"));
}

TEST(NumberBins, CutQuantilesNearestToTheirShare) {
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t distinct = 1 + random() % 12;
    const std::uint64_t count = 2 + random() % 9;
    std::vector<double> numbers;
    std::vector<std::uint64_t> rows;
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < distinct; ++i) {
      numbers.push_back(static_cast<double>(i) - 3);
      rows.push_back(1 + random() % 7);
      all += rows.back();
    }
    std::vector<double> edges{numbers[0]};
    for (std::uint64_t k = 1; k < count; ++k) {
      const double target = static_cast<double>(k * all) / static_cast<double>(count);
      double nearest = std::numeric_limits<double>::infinity();
      double edge = 0;
      std::uint64_t before = 0;
      for (std::size_t i = 0; i < distinct; before += rows[i++]) {
        const double distance = std::abs(static_cast<double>(before) - target);
        if (distance < nearest - 1e-9) {
          nearest = distance;
          edge = numbers[i];
        }
      }
      if (edge > edges.back()) edges.push_back(edge);
    }
    edges.push_back(numbers.back());

    const NumberBins bins = quantiles_of(numbers, rows, count);

    ASSERT_EQ(bins.size(), edges.size() - 1);
    for (std::size_t i = 0; i + 1 < edges.size(); ++i) EXPECT_EQ(bins.bin_of(edges[i]), i);
    EXPECT_EQ(bins.bin_of(edges.back()), edges.size() - 2);
  }
}

TEST(NumberBins, ComeBackFromTheirLabels) {
  std::mt19937_64 random(6);
  for (int trial = 0; trial < 200; ++trial) {
    const double lower = std::ldexp(std::normal_distribution<double>()(random), static_cast<int>(random() % 100) - 50);
    const double upper = lower + std::ldexp(1.0, static_cast<int>(random() % 60) - 30);
    const NumberBins bins = NumberBins::of_equal_width(lower, upper, 2 + random() % 30);
    const Labels labels{labels_of(bins)};

    const auto again = NumberBins::of_labels(labels, labels.size());

    ASSERT_TRUE(again);
    EXPECT_EQ(labels_of(*again), labels_of(bins));
  }
}

TEST(NumberBins, AreNotOfOtherLabels) {
  const auto is_refused = [](const std::vector<std::string>& texts) {
    const Labels labels(texts);
    return !NumberBins::of_labels(labels, labels.size());
  };

  EXPECT_FALSE(is_refused({"[0, 1)", "[1, 2]"}));
  EXPECT_FALSE(is_refused({"[0, 1)", "[1, 1]"}));
  EXPECT_TRUE(is_refused({"[0, 1)", "[1, 2)"}));
  EXPECT_TRUE(is_refused({"[0, 1]", "[1, 2]"}));
  EXPECT_TRUE(is_refused({"[0, 1)", "[2, 3]"}));
  EXPECT_TRUE(is_refused({"[0, 0)", "[0, 3]"}));
  EXPECT_TRUE(is_refused({"[1, 0]"}));
  EXPECT_TRUE(is_refused({"[0, 1.0)", "[1, 2]"}));
  EXPECT_TRUE(is_refused({"[0, inf]"}));
  EXPECT_TRUE(is_refused({"ann"}));
}

TEST(NumberBins, LabelNumbersInTheFewestDigits) {
  EXPECT_EQ(shortest_number(0.1), "0.1");
  EXPECT_EQ(shortest_number(100000), "100000");
  EXPECT_EQ(shortest_number(-1.5e-7), "-1.5e-07");
  EXPECT_EQ(shortest_number(1e20), "1e+20");
  EXPECT_EQ(shortest_number(1.0 / 3), "0.3333333333333333");
}

TEST(KeyWord, HasTheOrderOfWhatItMeans) {
  constexpr double smallest = std::numeric_limits<double>::denorm_min();
  const std::vector<double> numbers = {-1e308, -1, -smallest, 0, smallest, 1, 1e308};
  for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
    EXPECT_LT(word_of_number(numbers[i]), word_of_number(numbers[i + 1]));
    EXPECT_LT(word_of_number(numbers[i + 1]), missing_word);
    EXPECT_EQ(number_of_word(word_of_number(numbers[i])), numbers[i]);
  }
  EXPECT_EQ(word_of_number(-0.0), word_of_number(0.0));
  EXPECT_LT(word_of_integer(-5), word_of_integer(4));
  EXPECT_EQ(integer_of_word(word_of_integer(-5)), -5);
  const std::uint64_t word = 77;
  EXPECT_EQ(word_of_key(key_of_word(word)), 77u);
}

}  // namespace
}  // namespace blco
