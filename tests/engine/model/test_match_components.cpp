// The pairing of components, against every permutation, and scores worked by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <blco/model_match.hpp>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "engine/model/assignment.hpp"

namespace blco {
namespace {

TEST(Assignment, HasTheLargestSumOfAllPermutations) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> number(-1, 1);
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t columns = 1 + random() % 6;
    const std::size_t rows = 1 + random() % columns;
    std::vector<double> scores(rows * columns);
    // Few distinct scores, so that ties occur.
    for (double& score : scores) score = trial % 2 == 0 ? number(random) : std::round(2 * number(random));

    const std::vector<std::size_t> found = assign_columns(scores, columns);

    double sum = 0;
    for (std::size_t row = 0; row < rows; ++row) sum += scores[row * columns + found[row]];
    std::vector<std::size_t> order(columns);
    std::iota(order.begin(), order.end(), 0);
    double best = -1e9;
    do {
      double total = 0;
      for (std::size_t row = 0; row < rows; ++row) total += scores[row * columns + order[row]];
      best = std::max(best, total);
    } while (std::ranges::next_permutation(order).found);
    EXPECT_NEAR(sum, best, 1e-12) << "trial " << trial;
    std::vector<std::size_t> distinct = found;
    std::ranges::sort(distinct);
    EXPECT_TRUE(std::ranges::adjacent_find(distinct) == distinct.end());
  }
}

CpdModel two_components() {
  CpdModel model;
  model.shape = {2, 2};
  model.rank = 2;
  model.weights = {4, 2};
  model.factors = {{1, 0, 0, 1}, {1, 0, 0, 1}};
  return model;
}

TEST(MatchComponents, FindsItsOwnReorderedAndFlipped) {
  const CpdModel model = two_components();
  CpdModel other = model;
  other.weights = {2, 4};
  other.factors = {{0, -1, 1, 0}, {0, -1, 1, 0}};  // columns exchanged, one flipped in both modes

  const ModelMatch match = match_components(model, other);

  EXPECT_DOUBLE_EQ(match.score, 1);
  EXPECT_EQ(match.pairs.size(), 2);
  EXPECT_EQ(match.pairs[0].other, 1);
  EXPECT_EQ(match.pairs[1].other, 0);
}

TEST(MatchComponents, HasTheScoreWorkedByHand) {
  const CpdModel model = two_components();
  CpdModel other = model;
  other.weights = {3, 2};
  other.factors[0] = {0.6, 0, 0.8, 1};  // the first column turned by a cosine of 0.6

  const ModelMatch match = match_components(model, other);

  // (1 - |4 - 3| / 4) * 0.6 * 1 and 1.
  EXPECT_DOUBLE_EQ(match.pairs[0].score, 0.45);
  EXPECT_DOUBLE_EQ(match.pairs[0].congruence, 0.6);
  EXPECT_DOUBLE_EQ(match.pairs[1].score, 1);
  EXPECT_DOUBLE_EQ(match.score, 0.725);
}

TEST(MatchComponents, PairsTheSmallerRankFromEitherSide) {
  const CpdModel model = two_components();
  CpdModel one = model;
  one.rank = 1;
  one.weights = {2};
  one.factors = {{0, 1}, {0, 1}};

  const ModelMatch from_one = match_components(one, model);
  const ModelMatch to_one = match_components(model, one);

  EXPECT_EQ(from_one.score, 1);
  EXPECT_EQ(from_one.pairs[0].other, 1);
  EXPECT_EQ(to_one.score, 1);
  EXPECT_EQ(to_one.pairs[0].component, 1);
  EXPECT_EQ(to_one.pairs[0].other, 0);
}

TEST(MatchComponents, ComparesRowsByLabels) {
  CpdModel model = two_components();
  const std::vector<std::string> ab = {"a", "b"};
  const std::vector<std::string> cba = {"c", "b", "a"};
  model.labels = {Labels(ab), Labels()};
  CpdModel other = model;
  other.shape = {3, 2};
  other.labels = {Labels(cba), Labels()};
  other.factors[0] = {0, 0, 0, 1, 1, 0};

  EXPECT_EQ(match_components(model, other).score, 1);

  const auto expect_refused = [&](const std::string& part) {
    try {
      match_components(model, other);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_THAT(error.what(), testing::HasSubstr(part));
    }
  };
  other.labels[0] = Labels(std::vector<std::string>{"c", "d", "e"});
  expect_refused("mode 0 has no label that is in both");
  other.labels.clear();
  expect_refused("mode 0 has the lengths 2 and 3");
}

}  // namespace
}  // namespace blco
