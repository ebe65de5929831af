// Several starts, beside the single fits that they are made of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <blco/memory_tensor.hpp>
#include <blco/model_match.hpp>
#include <blco/starts.hpp>
#include <cstdint>
#include <random>
#include <vector>

#include "blco/error.hpp"
#include "tests/engine/within_budget.hpp"

namespace blco {
namespace {

using testing::HasSubstr;

MemoryTensor noisy_tensor() {
  std::mt19937_64 random(11);
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> second;
  std::vector<std::uint32_t> third;
  std::vector<double> values;
  for (std::size_t i = 0; i < 400; ++i) {
    first.push_back(static_cast<std::uint32_t>(random() % 12));
    second.push_back(static_cast<std::uint32_t>(random() % 10));
    third.push_back(static_cast<std::uint32_t>(random() % 8));
    values.push_back(static_cast<double>(1 + random() % 9));
  }
  return MemoryTensor({{first, second, third}, values}, {.shape = {12, 10, 8}});
}

CpdOptions start_options() {
  CpdOptions options;
  options.rank = 3;
  options.max_sweeps = 12;
  options.seed = 5;
  options.compute.devices = {"cpu"};
  options.compute.threads = 1;
  return options;
}

std::string refusal_of(const CpdOptions& options, int starts) {
  try {
    fit_starts(noisy_tensor(), options, starts);
  } catch (const Error& error) {
    return error.kind() == ErrorKind::invalid_argument ? error.what() : "another kind";
  }
  return "nothing";
}

TEST(Starts, KeepTheBestOfTheSingleFits) {
  const MemoryTensor tensor = noisy_tensor();
  std::vector<CpdModel> singles;
  for (std::uint64_t seed = 5; seed < 9; ++seed) {
    CpdOptions options = start_options();
    options.seed = seed;
    singles.push_back(fit_cpd(tensor, options));
  }

  const StartsReport report = fit_starts(tensor, start_options(), 4);

  const auto best = std::ranges::max_element(singles, {}, &CpdModel::fit);
  EXPECT_EQ(report.best_start, best - singles.begin() + 1);
  EXPECT_EQ(report.best.factors, best->factors);
  EXPECT_EQ(report.best.seed, best->seed);
  ASSERT_EQ(report.starts.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(report.starts[i].fit, singles[i].fit());
  EXPECT_LE(report.lowest_match.value_or(2), report.mean_match.value_or(-1));
}

TEST(Starts, AreAllComparedWithTheBestWhereverItIs) {
  const MemoryTensor tensor = noisy_tensor();
  std::vector<CpdModel> models;

  const StartsReport report = fit_starts(tensor, start_options(), 6,
                                         [&](const StartReport&, const CpdModel& model) { models.push_back(model); });

  int reaching = 0;
  ASSERT_GT(report.best_start, 1);
  for (const StartReport& start : report.starts) {
    const CpdModel& model = models[static_cast<std::size_t>(start.start - 1)];
    reaching += model.fit() >= report.best.fit() - 1e-3 ? 1 : 0;
    EXPECT_EQ(start.reaches_best, model.fit() >= report.best.fit() - 1e-3);
    if (start.start == report.best_start) {
      EXPECT_FALSE(start.match.has_value());
      EXPECT_EQ(model.factors, report.best.factors);
      continue;
    }
    const ModelMatch match = match_components(report.best, model);
    ASSERT_TRUE(start.match.has_value());
    EXPECT_EQ(*start.match, match.score);
    for (const ComponentMatch& pair : match.pairs) {
      EXPECT_EQ(start.component_matches[static_cast<std::size_t>(pair.component)], pair.score);
    }
  }
  EXPECT_EQ(report.reaching, reaching);
}

TEST(Starts, DropTheWorstModelsWhereTheBudgetIsShort) {
  const MemoryTensor tensor = noisy_tensor();
  const CpdPlan plan = plan_starts(tensor, start_options(), 6);
  const std::uint64_t model_bytes = (12 + 10 + 8) * 3 * sizeof(double);

  const StartsReport most = fit_starts(tensor, start_options(), 6);
  const StartsReport least = fit_starts(tensor, within({.host_bytes = plan.minimum_bytes}, start_options()), 6);

  EXPECT_EQ(plan.minimum_bytes, plan_cpd(tensor, start_options()).minimum_bytes + model_bytes);
  EXPECT_EQ(least.best.factors, most.best.factors);
  EXPECT_EQ(least.reaching, most.reaching);
  EXPECT_EQ(std::ranges::count_if(most.starts, [](const StartReport& start) { return start.match.has_value(); }), 5);
  EXPECT_LE(std::ranges::count_if(least.starts, [](const StartReport& start) { return start.match.has_value(); }), 1);
}

TEST(Starts, CountLabelsApartFromWhatGrowsWithTheRank) {
  const std::vector<std::uint32_t> row = {0, 1, 2};
  CoordinateArrays cells{.coordinates = {row, row}};
  for (int mode = 0; mode < 2; ++mode) {
    cells.labels.emplace_back(std::vector{std::string(1 << 20, 'a'), std::string(1 << 20, 'b'), std::string("c")});
  }
  const MemoryTensor tensor(cells, {.shape = {3, 3}});

  try {
    plan_starts(tensor, within({.host_bytes = 1 << 20}, start_options()), 2);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("8.0 MiB for labels"));
    EXPECT_THAT(error.what(), testing::Not(HasSubstr("models of other starts")));
  }
}

TEST(Starts, OfASingleOneAreThatFit) {
  const MemoryTensor tensor = noisy_tensor();

  const StartsReport report = fit_starts(tensor, start_options(), 1);

  EXPECT_EQ(report.best.factors, fit_cpd(tensor, start_options()).factors);
  EXPECT_FALSE(report.lowest_match.has_value());
  EXPECT_FALSE(report.mean_match.has_value());
}

TEST(Starts, EndWithTheOneThatIsStopped) {
  const MemoryTensor tensor = noisy_tensor();
  CpdOptions options = start_options();
  options.tolerance = 0;
  int sweeps = 0;
  options.on_sweep = [&](const SweepReport&) { return ++sweeps < 12 + 5; };
  int told = 0;

  const StartsReport report = fit_starts(tensor, options, 4, [&](const StartReport&, const CpdModel&) { ++told; });

  ASSERT_EQ(report.starts.size(), 2U);
  EXPECT_EQ(told, 2);
  EXPECT_EQ(report.starts[1].stop_reason, StopReason::cancelled);
  EXPECT_EQ(report.starts[1].sweeps, 5U);
  EXPECT_FALSE(report.mean_match.has_value());
}

TEST(Starts, KeepWhatThereIsWhenStoppedBeforeASweep) {
  const MemoryTensor tensor = noisy_tensor();
  CpdOptions options = start_options();
  int finished = 0;
  options.on_progress = [&](const Progress&) { return finished == 0; };

  const StartsReport report = fit_starts(tensor, options, 3, [&](const StartReport&, const CpdModel&) { ++finished; });

  EXPECT_EQ(report.starts.size(), 1U);
  EXPECT_EQ(report.best_start, 1);
}

TEST(Starts, CountTheBestModelInTheBudget) {
  const MemoryTensor tensor = noisy_tensor();

  const std::uint64_t one = plan_starts(tensor, start_options(), 1).minimum_bytes;
  const std::uint64_t many = plan_starts(tensor, start_options(), 2).minimum_bytes;

  EXPECT_EQ(one, plan_cpd(tensor, start_options()).minimum_bytes);
  EXPECT_EQ(many, one + (12 + 10 + 8) * 3 * sizeof(double));
}

TEST(Starts, RefuseWhatBelongsToOneFit) {
  const CpdModel model = fit_cpd(noisy_tensor(), start_options());
  CpdOptions initial = start_options();
  initial.initial = &model;
  CpdOptions checkpoint = start_options();
  checkpoint.checkpoint = "checkpoint.h5";
  CpdOptions resume = start_options();
  resume.resume = "checkpoint.h5";
  CpdOptions trace = start_options();
  trace.compute.trace = "trace.json";

  EXPECT_THAT(refusal_of(start_options(), 0), HasSubstr("at least 1"));
  EXPECT_THAT(refusal_of(initial, 2), HasSubstr("`starts` and `initial` exclude each other"));
  EXPECT_THAT(refusal_of(checkpoint, 2), HasSubstr("`starts` and `checkpoint` exclude each other"));
  EXPECT_THAT(refusal_of(resume, 2), HasSubstr("`starts` and `resume` exclude each other"));
  EXPECT_THAT(refusal_of(trace, 2), HasSubstr("`starts` and `trace` exclude each other"));
}

}  // namespace
}  // namespace blco
