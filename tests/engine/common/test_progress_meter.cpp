// What a caller is told of a job, and how it ends one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "blco/error.hpp"
#include "engine/common/progress_meter.hpp"

namespace blco {
namespace {

TEST(ProgressMeter, ReportsTheFirstStepAndTheEndOfAStage) {
  std::vector<Progress> reports;
  const ProgressCallback callback = [&](const Progress& progress) {
    reports.push_back(progress);
    return true;
  };
  ProgressMeter meter(callback);

  meter.begin({.name = "sweep", .sweep = 3, .nonzeros = 400});
  for (int i = 0; i < 4; ++i) meter.advance(100, 7);
  meter.end();

  ASSERT_GE(reports.size(), 2);
  EXPECT_EQ(reports.front().nonzeros, 100);
  EXPECT_EQ(reports.front().share, 0.25);
  EXPECT_STREQ(reports.back().stage, "sweep");
  EXPECT_EQ(reports.back().sweep, 3);
  EXPECT_EQ(reports.back().nonzeros, 400);
  EXPECT_EQ(reports.back().bytes, 28);
  EXPECT_EQ(reports.back().share, 1.0);
}

TEST(ProgressMeter, CountsBytesWhereNonzerosAreNotKnown) {
  double share = 0;
  const ProgressCallback callback = [&](const Progress& progress) {
    share = progress.share;
    return true;
  };
  ProgressMeter meter(callback, 0, std::chrono::milliseconds(0));

  meter.begin({.name = "read", .bytes = 1000});
  meter.advance(5, 250);
  EXPECT_EQ(share, 0.25);
  meter.end();
  EXPECT_EQ(share, 1);
  meter.begin({.name = "sort"});
  EXPECT_LT(share, 0);
  meter.end();
  EXPECT_EQ(share, 1);
}

TEST(ProgressMeter, EndsTheJobOnceTheCallerSaysSo) {
  const ProgressCallback callback = [](const Progress&) { return false; };
  ProgressMeter meter(callback);
  meter.begin({.name = "read"});

  EXPECT_THROW(meter.advance(1, 1), Error);
  EXPECT_THROW(meter.advance(1, 1), Error);
  EXPECT_EQ(meter.reason(), StopReason::cancelled);
}

TEST(ProgressMeter, OnlyRemembersAStopThatIsDeferred) {
  const ProgressCallback callback = [](const Progress&) { return false; };
  ProgressMeter meter(callback);
  meter.defer_stops();
  meter.begin({.name = "sweep"});

  EXPECT_NO_THROW(meter.advance(1, 1));
  EXPECT_TRUE(meter.stop_requested());
}

TEST(ProgressMeter, EndsTheJobWithAStageUnlessThatCounts) {
  const ProgressCallback callback = [](const Progress&) { return false; };
  ProgressMeter meter(callback);
  meter.begin({.name = "sweep"});

  EXPECT_NO_THROW(meter.report_end());
  EXPECT_TRUE(meter.stop_requested());
  EXPECT_THROW(meter.end(), Error);
}

TEST(ProgressMeter, PolledReportsOnItsOwnThreadAndTellsAllWhenToStop) {
  int reports = 0;
  const ProgressCallback callback = [&](const Progress&) { return ++reports < 2; };
  ProgressMeter meter(callback, 0, std::chrono::milliseconds(0));
  const auto polled_elsewhere = [&] {
    bool stop = false;
    std::thread([&] { stop = meter.poll(); }).join();
    return stop;
  };
  meter.begin({.name = "sweep", .nonzeros = 9});

  EXPECT_FALSE(polled_elsewhere());
  EXPECT_EQ(reports, 0);
  EXPECT_FALSE(meter.poll());
  EXPECT_TRUE(meter.poll());
  EXPECT_TRUE(polled_elsewhere());
  EXPECT_EQ(reports, 2);
  meter.defer_stops();
  EXPECT_FALSE(meter.poll());
}

TEST(ProgressMeter, EndsTheJobWhenItsTimeIsUp) {
  const ProgressCallback none;
  ProgressMeter meter(none, 0.01);
  meter.begin({.name = "sweep"});
  std::this_thread::sleep_for(std::chrono::milliseconds(11));

  EXPECT_THROW(meter.advance(1, 1), Error);
  EXPECT_EQ(meter.reason(), StopReason::time);
}

}  // namespace
}  // namespace blco
