// The choice among ranks, by figures worked by hand.
#include <gtest/gtest.h>

#include <blco/rank_choice.hpp>
#include <vector>

namespace blco {
namespace {

std::optional<int> choice_of(const std::vector<RankedFit>& fits) { return choose_rank(fits); }

TEST(RankChoice, IsTheSmallestOfRanksThatScoreAlike) {
  // Of 0.8 the fits are 1, 0.985 and 0.9.
  EXPECT_EQ(choice_of({{8, 0.8, 100}, {4, 0.788, 100}, {2, 0.72, 100}}), 4);
}

TEST(RankChoice, GivesUpFitForCoreConsistency) {
  // A core consistency of -800 costs 0.25 log10(10) = 0.25 of the best fit; one of 1 more than 100 costs nothing.
  EXPECT_EQ(choice_of({{3, 0.78, 100}, {4, 1.0, -800}}), 3);
  EXPECT_EQ(choice_of({{3, 0.72, 100}, {4, 1.0, -800}}), 4);
  EXPECT_EQ(choice_of({{3, 0.97, 100}, {4, 1.0, 101}}), 4);
}

TEST(RankChoice, CountsOnStartsThatAgree) {
  EXPECT_EQ(choice_of({{3, 0.8, 100, 1.0}, {4, 1.0, 100, 0.75}}), 3);
  EXPECT_EQ(choice_of({{3, 0.7, 100, 1.0}, {4, 1.0, 100, 0.75}}), 4);
}

TEST(RankChoice, IsNoneWithoutAComparisonOrAFit) {
  EXPECT_EQ(choice_of({{3, 0.8, 100}}), std::nullopt);
  EXPECT_EQ(choice_of({{3, 0, 100}, {4, -0.1, 100}}), std::nullopt);
}

}  // namespace
}  // namespace blco
