// Searches for the ranks of a Tucker model by its error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/memory_tensor.hpp>
#include <blco/tucker_ranks.hpp>
#include <filesystem>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "blco/error.hpp"
#include "tests/engine/fit/tucker_tensors.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

TEST(TuckerRanks, FindsTheRanksOfATensorForAnError) {
  // Of mode 1 a constant and a line: multilinear ranks of 3, 2 and 3.
  const MemoryTensor tensor = dense_tensor();
  for (const std::vector<int>& start : {std::vector<int>{}, {1, 1, 1}, {6, 6, 6}}) {
    TuckerOptions options = of_ranks(start);
    std::vector<std::vector<int>> tried;
    options.on_plan = [&](const TuckerPlan& plan) { tried.push_back(plan.ranks); };

    const TuckerModel model = fit_tucker_to_error(tensor, options, 1e-6);

    EXPECT_LE(1 - model.fit(), 1e-6);
    EXPECT_EQ(model.ranks, (std::vector<std::uint64_t>{3, 2, 3}));
    EXPECT_EQ(tried.front(), ranks_of(start.empty() ? of_ranks({8}) : options, tensor.shape()));
    EXPECT_EQ(tried.back(), (std::vector<int>{3, 2, 3}));
  }
}

// No rank may exceed the other, so that both become smaller at once.
TEST(TuckerRanks, FindsTheRanksOfAMatrixForAnError) {
  const std::vector<std::uint32_t> places = {1, 4, 6};
  const std::vector<std::uint32_t> zeros = {0, 0, 0};
  const std::vector<double> values = {3, 2, 1};
  const TuckerOptions options = of_ranks({});

  const MemoryTensor matrix({.coordinates = {places, places}, .values = values}, {.shape = {12, 9}});
  const MemoryTensor slice({.coordinates = {places, zeros, places}, .values = values}, {.shape = {12, 1, 9}});

  EXPECT_EQ(fit_tucker_to_error(matrix, options, 1e-6).ranks, (std::vector<std::uint64_t>{3, 3}));
  EXPECT_EQ(fit_tucker_to_error(slice, options, 1e-6).ranks, (std::vector<std::uint64_t>{3, 1, 3}));
}

TEST(TuckerRanks, EndsASearchForRanksWithTheModelOfTheLastSweep) {
  const MemoryTensor tensor = dense_tensor();
  TuckerOptions options = of_ranks({1});
  options.max_sweeps = 4;
  options.tolerance = 0;

  const TuckerModel few = fit_tucker_to_error(tensor, options, 1e-6);
  options.max_sweeps = 50;
  options.on_sweep = [](const SweepReport& report) { return report.sweep < 2; };
  const TuckerModel stopped = fit_tucker_to_error(tensor, options, 1e-6);

  EXPECT_EQ(few.sweeps(), 4U);
  EXPECT_EQ(few.stop_reason, StopReason::sweeps);
  EXPECT_GT(1 - few.fit(), 1e-6);
  EXPECT_EQ(stopped.sweeps(), 2U);
  EXPECT_EQ(stopped.stop_reason, StopReason::cancelled);
}

// 3000 cells of so long modes.
MemoryTensor scattered_tensor(const std::vector<std::uint64_t>& shape, std::uint64_t chunk_nnz = 1 << 20) {
  std::vector<std::vector<std::uint32_t>> modes(shape.size());
  std::vector<double> values;
  std::mt19937_64 random(7);
  for (int entry = 0; entry < 3000; ++entry) {
    for (std::size_t n = 0; n < shape.size(); ++n) modes[n].push_back(static_cast<std::uint32_t>(random() % shape[n]));
    values.push_back(1 + static_cast<double>(random() % 9));
  }
  CoordinateArrays arrays{.values = values};
  for (const std::vector<std::uint32_t>& mode : modes) arrays.coordinates.emplace_back(mode);
  return MemoryTensor(arrays, {.shape = shape, .chunk_nnz = chunk_nnz});
}

// A core of 3^8 numbers has more than 4096, one of 2^13 too.
TEST(TuckerRanks, BeginsASearchForRanksWithASmallCore) {
  const auto first = [](const std::vector<std::uint64_t>& shape) {
    return plan_tucker_to_error(scattered_tensor(shape), of_ranks({}), 0.5).ranks;
  };

  EXPECT_EQ(first({30, 20, 10}), (std::vector<int>{8, 8, 8}));
  EXPECT_EQ(first({9, 9, 9, 9, 9}), std::vector<int>(5, 5));
  EXPECT_EQ(first(std::vector<std::uint64_t>(8, 9)), std::vector<int>(8, 2));
  EXPECT_EQ(first(std::vector<std::uint64_t>(13, 3)), std::vector<int>(13, 1));
}

// Of 50,000 indices a matrix of 8 columns takes 3 MiB.
TEST(TuckerRanks, BeginsASearchForRanksWithWhatTheBudgetHolds) {
  const MemoryTensor tensor = scattered_tensor({50'000, 40, 30});
  TuckerOptions options = of_ranks({2}, TuckerMethod::automatic);
  options.compute.memory.host_bytes = plan_tucker(tensor, options).plan.minimum_bytes;
  options.ranks = {};

  const TuckerPlan plan = plan_tucker_to_error(tensor, options, 0.5);

  EXPECT_EQ(plan.ranks, (std::vector<int>{2, 2, 2}));
  EXPECT_LE(plan.plan.planned_bytes, options.compute.memory.host_bytes);
}

TEST(TuckerRanks, KeepsTheModelOfRanksBeyondWhichTheBudgetHoldsNone) {
  const MemoryTensor tensor = scattered_tensor({20'000, 40, 30}, 512);
  TuckerOptions options = of_ranks({4}, TuckerMethod::automatic);
  options.compute.memory.host_bytes = plan_tucker(tensor, options).plan.minimum_bytes + (std::uint64_t{1} << 20);
  std::string reason;
  const auto on_last_ranks = [&](const Error& error) { reason = error.what(); };
  std::vector<std::vector<int>> tried;
  options.on_plan = [&](const TuckerPlan& plan) { tried.push_back(plan.ranks); };

  const TuckerModel model = fit_tucker_to_error(tensor, options, 0.1, on_last_ranks);

  EXPECT_EQ(model.ranks, (std::vector<std::uint64_t>{4, 4, 4}));
  EXPECT_EQ(model.stop_reason, StopReason::unfinished);
  EXPECT_EQ(model.fit_history.size(), model.sweeps());
  std::smatch named;
  ASSERT_TRUE(std::regex_search(reason, named, std::regex("next ranks, 8x8x8, .*`host_bytes = ([0-9]+)KiB`")))
      << reason;
  options.compute.memory.host_bytes = std::stoull(named[1]) << 10;
  tried.clear();
  EXPECT_EQ(fit_tucker_to_error(tensor, options, 0.1).ranks, (std::vector<std::uint64_t>{8, 8, 8}));
  EXPECT_EQ(tried.back(), (std::vector<int>{8, 8, 8}));
}

TEST(TuckerRanks, RefusesAnErrorThatDoesNotSuit) {
  TuckerOptions options = of_ranks({2});
  const auto refusal = [&](double max_error) -> std::string {
    try {
      fit_tucker_to_error(dense_tensor(), options, max_error);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      return error.what();
    }
    return "";
  };

  EXPECT_THAT(refusal(1), testing::HasSubstr("`max_error` must be above 0 and below 1"));
  EXPECT_THAT(refusal(0), testing::HasSubstr("`max_error` must be above 0 and below 1"));
  EXPECT_THAT(refusal(1e-8), testing::HasSubstr("at least 0.000001"));
  options.compute.precision = Precision::f32;
  EXPECT_THAT(refusal(1e-4), testing::HasSubstr("f64"));
  options.checkpoint = "checkpoint.h5";
  EXPECT_THAT(refusal(0.1), testing::HasSubstr("no checkpoints"));
  options.checkpoint.clear();
  options.resume = "checkpoint.h5";
  EXPECT_THAT(refusal(0.1), testing::HasSubstr("no checkpoints"));
  options.resume.clear();
  options.constraints = {{.set = RowSet::held}, {}, {}};
  EXPECT_THAT(refusal(0.1), testing::HasSubstr("none can be held"));
}

TEST(TuckerRanks, PlansWithoutATrace) {
  const TemporaryFolder folder;
  TuckerOptions options = of_ranks({});
  options.compute.trace = folder / "trace.json";

  plan_tucker_to_error(dense_tensor(), options, 0.5);

  EXPECT_FALSE(std::filesystem::exists(options.compute.trace));
}

}  // namespace
}  // namespace blco
