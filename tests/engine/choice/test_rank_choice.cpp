// The choice among ranks, by figures worked by hand; fits of several ranks, beside those of fit_starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <blco/memory_tensor.hpp>
#include <blco/rank_choice.hpp>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "blco/error.hpp"
#include "tests/engine/within_budget.hpp"

namespace blco {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The sum of three products of random columns, in every cell of 9 x 8 x 7.
MemoryTensor three_components() {
  std::mt19937_64 random(7);
  std::array<std::vector<double>, 3> factors;
  for (std::size_t n = 0; n < 3; ++n) {
    factors[n].resize((9 - n) * 3);
    for (double& number : factors[n]) number = static_cast<double>(random() % 2001) / 1000 - 1;
  }
  std::array<std::vector<std::uint32_t>, 3> cells;
  std::vector<double> values;
  for (std::uint32_t cell = 0; cell < 9 * 8 * 7; ++cell) {
    const std::array<std::uint32_t, 3> at{cell / 56, cell / 7 % 8, cell % 7};
    for (std::size_t n = 0; n < 3; ++n) cells[n].push_back(at[n]);
    double value = 0;
    for (std::size_t r = 0; r < 3; ++r) {
      value += factors[0][at[0] * 3 + r] * factors[1][at[1] * 3 + r] * factors[2][at[2] * 3 + r];
    }
    values.push_back(value);
  }
  return MemoryTensor({{cells[0], cells[1], cells[2]}, values}, {.shape = {9, 8, 7}});
}

CpdOptions rank_options() {
  CpdOptions options;
  options.max_sweeps = 60;
  options.seed = 5;
  options.compute.devices = {"cpu"};
  options.compute.threads = 1;
  return options;
}

// The ranks that have a model, in order.
struct Ended {
  std::vector<RankReport> reports = {};
  RankSearch search = {.on_rank = [this](RankReport&& report) {
    reports.push_back(std::move(report));
    return true;
  }};

  std::vector<int> ranks() const {
    std::vector<int> ranks;
    for (const RankReport& report : reports) ranks.push_back(report.starts.best.rank);
    return ranks;
  }
};

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

TEST(FitRanks, ChooseAmongTheBestOfSeveralStarts) {
  const MemoryTensor tensor = three_components();
  const std::vector<int> ranks{2, 4, 3};
  Ended ended;
  ended.search.starts = 3;
  std::vector<std::pair<int, int>> begun;
  ended.search.on_begin = [&](int rank, int start) { begun.emplace_back(rank, start); };

  const std::optional<int> choice = fit_ranks(tensor, rank_options(), ranks, ended.search);

  EXPECT_EQ(choice, 3);
  EXPECT_EQ(ended.ranks(), ranks);
  EXPECT_EQ(begun,
            (std::vector<std::pair<int, int>>{
                {2, 1}, {2, 2}, {2, 3}, {2, 0}, {4, 1}, {4, 2}, {4, 3}, {4, 0}, {3, 1}, {3, 2}, {3, 3}, {3, 0}}));
  for (const RankReport& report : ended.reports) {
    CpdOptions options = rank_options();
    options.rank = report.starts.best.rank;
    EXPECT_EQ(report.starts.best.factors, fit_starts(tensor, options, 3).best.factors);
    EXPECT_EQ(report.core_consistency, core_consistency(tensor, report.starts.best, options.compute));
  }
}

TEST(FitRanks, TellWhatTheyAreAt) {
  std::vector<std::string> told;
  RankSearch search;
  search.on_begin = [&](int rank, int start) { told.push_back("begin " + std::to_string(10 * rank + start)); };
  search.on_start = [&](const StartReport&, const CpdModel& model) {
    told.push_back("ended of " + std::to_string(model.rank));
  };
  search.on_rank = [&](RankReport&&) {
    told.push_back("rank");
    return true;
  };

  fit_ranks(three_components(), rank_options(), std::vector{2}, search);

  EXPECT_THAT(told, ElementsAre("begin 21", "ended of 2", "begin 20", "rank"));
}

TEST(FitRanks, EndWhereACallbackSaysSo) {
  const MemoryTensor tensor = three_components();
  CpdOptions options = rank_options();
  options.tolerance = 0;
  int sweeps = 0;
  options.on_sweep = [&](const SweepReport&) { return ++sweeps < 60 + 5; };
  Ended by_sweep;
  Ended by_rank;
  by_rank.search.on_rank = [&, keep = by_rank.search.on_rank](RankReport&& report) {
    keep(std::move(report));
    return by_rank.reports.size() < 2;
  };

  fit_ranks(tensor, options, std::vector{1, 2, 3}, by_sweep.search);
  fit_ranks(tensor, rank_options(), std::vector{3, 2, 1}, by_rank.search);

  EXPECT_THAT(by_sweep.ranks(), ElementsAre(1, 2));
  EXPECT_EQ(by_sweep.reports[1].starts.best.sweeps(), 5);
  EXPECT_EQ(by_sweep.reports[1].starts.best.stop_reason, StopReason::cancelled);
  EXPECT_THAT(by_rank.ranks(), ElementsAre(3, 2));
}

TEST(FitRanks, LeaveOutARankThatHadNoSweep) {
  const MemoryTensor tensor = three_components();
  Ended ended;
  CpdOptions options = rank_options();
  options.on_progress = [&](const Progress&) { return ended.reports.empty(); };

  fit_ranks(tensor, options, std::vector{1, 2, 3}, ended.search);

  EXPECT_THAT(ended.ranks(), ElementsAre(1));
  options.on_progress = [](const Progress&) { return false; };
  EXPECT_THROW(fit_ranks(tensor, options, std::vector{1, 2}), Error);
}

TEST(FitRanks, ShareTheTimeLimit) {
  CpdOptions options = rank_options();
  options.tolerance = 0;
  options.max_sweeps = std::numeric_limits<int>::max();
  options.time_limit_seconds = 0.5;
  Ended ended;

  fit_ranks(three_components(), options, std::vector{1, 2, 3}, ended.search);

  ASSERT_THAT(ended.ranks(), ElementsAre(1));
  EXPECT_EQ(ended.reports[0].starts.best.stop_reason, StopReason::time);
  EXPECT_EQ(ended.reports[0].core_gap, CoreGap::stopped);
}

TEST(FitRanks, AreRefusedByTheLargestOfThemBeforeAnyFit) {
  const MemoryTensor tensor = three_components();
  CpdOptions largest = rank_options();
  largest.rank = 6;
  const std::uint64_t least = plan_starts(tensor, largest, 2).minimum_bytes;
  const auto refusal_of = [&](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.kind() == ErrorKind::out_of_memory ? std::string(error.what()) : "another kind";
    }
    return std::string("nothing");
  };
  Ended ended;
  ended.search.starts = 2;
  const CpdOptions too_little = within({.host_bytes = least - 1}, largest);

  const std::string refusal = refusal_of([&] { fit_ranks(tensor, too_little, std::vector{2, 6, 1}, ended.search); });

  EXPECT_EQ(refusal, refusal_of([&] { plan_starts(tensor, too_little, 2); }));
  EXPECT_THAT(ended.reports, IsEmpty());
  fit_ranks(tensor, within({.host_bytes = least}, largest), std::vector{2, 6, 1}, ended.search);
  EXPECT_THAT(ended.ranks(), ElementsAre(2, 6, 1));
}

TEST(FitRanks, SayWhyThereIsNoCoreConsistency) {
  const MemoryTensor tensor = three_components();
  CpdOptions options = rank_options();
  options.max_sweeps = 1;
  Ended large;
  Ended complete;
  Ended plain;
  plain.search.measures_core = false;

  // 65^2 columns are more than 4096.
  fit_ranks(tensor, options, std::vector{65, 64}, large.search);
  fit_ranks(tensor, options, std::vector{1}, plain.search);
  options.method = CompletionMethod{};
  EXPECT_EQ(fit_ranks(tensor, options, std::vector{1, 2}, complete.search), std::nullopt);

  EXPECT_EQ(large.reports[0].core_gap, CoreGap::size);
  EXPECT_EQ(large.reports[1].core_gap, CoreGap::none);
  EXPECT_TRUE(large.reports[1].core_consistency.has_value());
  EXPECT_EQ(complete.reports[0].core_gap, CoreGap::method);
  EXPECT_EQ(plain.reports[0].core_gap, CoreGap::none);
  EXPECT_FALSE(plain.reports[0].core_consistency.has_value());
}

TEST(FitRanks, RefuseWhatBelongsToOneFit) {
  const MemoryTensor tensor = three_components();
  CpdOptions options = rank_options();
  options.rank = 2;
  const CpdModel model = fit_cpd(tensor, options);
  std::vector<std::pair<std::string, CpdOptions>> refused(4, {"", options});
  refused[0].first = "`initial`";
  refused[0].second.initial = &model;
  refused[1].first = "`resume`";
  refused[1].second.resume = "checkpoint.h5";
  refused[2].first = "`checkpoint`";
  refused[2].second.checkpoint = "checkpoint.h5";
  refused[3].first = "`trace`";
  refused[3].second.compute.trace = "trace.json";

  for (const auto& [option, given] : refused) {
    try {
      fit_ranks(tensor, given, std::vector{2, 3});
      ADD_FAILURE() << "accepted with " << option;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_EQ(std::string(error.what()), option + " is about one fit, but there are several ranks; give one rank");
    }
  }
}

}  // namespace
}  // namespace blco
