// Several starts of Tucker models, beside the single fits that they are made of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <blco/memory_tensor.hpp>
#include <blco/starts.hpp>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "blco/error.hpp"

namespace blco {
namespace {

const std::vector<std::uint64_t> noise_shape{12, 10, 8};
const std::vector<int> noise_ranks{3, 2, 2};
constexpr std::uint64_t bytes_of_noise_model = (12 * 3 + 10 * 2 + 8 * 2 + 3 * 2 * 2) * sizeof(double);

// Nothing but noise, so that starts end in different optima.
MemoryTensor noise() {
  std::mt19937_64 random(11);
  std::vector<std::vector<std::uint32_t>> places(3);
  std::vector<double> values;
  for (std::size_t i = 0; i < 400; ++i) {
    for (std::size_t n = 0; n < 3; ++n) places[n].push_back(static_cast<std::uint32_t>(random() % noise_shape[n]));
    values.push_back(static_cast<double>(random() % 19) - 9);
  }
  return MemoryTensor({{places[0], places[1], places[2]}, values}, {.shape = noise_shape});
}

TuckerOptions noise_options(std::uint64_t seed = 5) {
  return {.ranks = noise_ranks,
          .max_sweeps = 12,
          .tolerance = 0,
          .seed = seed,
          .compute = {.devices = {"cpu"}, .threads = 1}};
}

// The matrix that projects on the space of the columns, I x I.
std::vector<double> projector(const std::vector<double>& factor, std::size_t columns) {
  const std::size_t rows = factor.size() / columns;
  std::vector<double> matrix(rows * rows);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < rows; ++j) {
      for (std::size_t r = 0; r < columns; ++r) {
        matrix[i * rows + j] += factor[i * columns + r] * factor[j * columns + r];
      }
    }
  }
  return matrix;
}

// |P - Q|^2 is 2 R less twice the squares of the cosines.
double match_of_projectors(const TuckerModel& one, const TuckerModel& other, std::size_t mode) {
  const auto columns = static_cast<std::size_t>(one.ranks[mode]);
  const std::vector<double> first = projector(one.factors[mode], columns);
  const std::vector<double> second = projector(other.factors[mode], columns);
  double squares = 0;
  for (std::size_t i = 0; i < first.size(); ++i) squares += (first[i] - second[i]) * (first[i] - second[i]);
  return 1 - squares / 2 / static_cast<double>(columns);
}

TEST(TuckerStarts, KeepTheBestOfTheSingleFits) {
  const MemoryTensor tensor = noise();
  std::vector<TuckerModel> singles;
  for (std::uint64_t seed = 5; seed < 9; ++seed) singles.push_back(fit_tucker(tensor, noise_options(seed)));

  const TuckerStartsReport report = fit_starts(tensor, noise_options(), 4);

  const auto best = std::ranges::max_element(singles, {}, &TuckerModel::fit);
  ASSERT_GT(best->fit(), std::ranges::min(singles, {}, &TuckerModel::fit).fit() + 1e-3);
  EXPECT_EQ(report.best_start, best - singles.begin() + 1);
  EXPECT_EQ(report.best.factors, best->factors);
  EXPECT_EQ(report.best.core, best->core);
  EXPECT_EQ(report.best.seed, best->seed);
  ASSERT_EQ(report.starts.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(report.starts[i].fit, singles[i].fit());
    EXPECT_EQ(report.starts[i].reaches_best, singles[i].fit() >= best->fit() - 1e-3);
  }
}

TEST(TuckerStarts, MatchTheSpacesOfTheBest) {
  const MemoryTensor tensor = noise();
  std::vector<TuckerModel> models;

  const TuckerStartsReport report = fit_starts(
      tensor, noise_options(), 5, [&](const StartReport&, const TuckerModel& model) { models.push_back(model); });

  double lowest = 1;
  double sum = 0;
  for (const StartReport& start : report.starts) {
    EXPECT_TRUE(start.component_matches.empty());
    if (start.start == report.best_start) {
      EXPECT_FALSE(start.match.has_value());
      continue;
    }
    ASSERT_EQ(start.mode_matches.size(), 3U);
    for (std::size_t n = 0; n < 3; ++n) {
      const double expected = match_of_projectors(report.best, models[static_cast<std::size_t>(start.start - 1)], n);
      EXPECT_NEAR(start.mode_matches[n], expected, 1e-12);
    }
    EXPECT_EQ(start.match, std::ranges::min(start.mode_matches));
    lowest = std::min(lowest, *start.match);
    sum += *start.match;
  }
  EXPECT_LT(lowest, 0.9);
  EXPECT_EQ(report.lowest_match, lowest);
  EXPECT_NEAR(report.mean_match.value_or(0), sum / 4, 1e-15);
}

TEST(TuckerStarts, MatchFullyWhereTheSpacesAreTheSame) {
  // A tensor of these ranks, of which every start finds the spaces.
  const MemoryTensor tensor({{std::vector<std::uint32_t>{0, 1, 2, 3}, std::vector<std::uint32_t>{1, 0, 1, 0},
                              std::vector<std::uint32_t>{0, 0, 1, 1}},
                             std::vector<double>{4, 3, 2, 1}},
                            {.shape = {6, 5, 4}});
  TuckerOptions options = noise_options();
  options.ranks = {4, 2, 2};

  const TuckerStartsReport report = fit_starts(tensor, options, 3);

  EXPECT_NEAR(report.lowest_match.value_or(0), 1, 1e-12);
  EXPECT_EQ(report.reaching, 3);
}

TEST(TuckerStarts, CountTheBestModelInTheBudget) {
  const MemoryTensor tensor = noise();
  const std::uint64_t one = plan_starts(tensor, noise_options(), 1).plan.minimum_bytes;
  const std::uint64_t many = plan_starts(tensor, noise_options(), 6).plan.minimum_bytes;
  TuckerOptions least = noise_options();
  least.compute.memory.host_bytes = many;
  TuckerOptions too_little = least;
  --too_little.compute.memory.host_bytes;

  const TuckerStartsReport report = fit_starts(tensor, least, 6);

  EXPECT_EQ(one, plan_tucker(tensor, noise_options()).plan.minimum_bytes);
  EXPECT_EQ(many, one + bytes_of_noise_model);
  EXPECT_EQ(report.best_start, fit_starts(tensor, noise_options(), 6).best_start);
  EXPECT_LE(std::ranges::count_if(report.starts, [](const StartReport& start) { return start.match.has_value(); }), 1);
  EXPECT_THROW(fit_starts(tensor, too_little, 6), Error);
}

TEST(TuckerStarts, KeepTheMethodThatHasRoomBesideOneModel) {
  const MemoryTensor tensor = noise();
  TuckerOptions options = noise_options();
  std::uint64_t too_little = plan_starts(tensor, options, 2).plan.minimum_bytes - 1;
  const auto method_in = [&](std::uint64_t budget, int starts) {
    options.compute.memory.host_bytes = budget;
    return plan_starts(tensor, options, starts).method;
  };
  ASSERT_EQ(method_in(too_little + 1, 2), TuckerMethod::hoqri);
  std::uint64_t budget = too_little + (1 << 20);
  ASSERT_EQ(method_in(budget, 2), TuckerMethod::hooi);
  while (budget - too_little > 1) {
    const std::uint64_t middle = too_little + (budget - too_little) / 2;
    (method_in(middle, 2) == TuckerMethod::hooi ? budget : too_little) = middle;
  }

  EXPECT_EQ(method_in(budget, 20), TuckerMethod::hooi);
  EXPECT_EQ(fit_starts(tensor, options, 20).best.method, "hooi");
}

TEST(TuckerStarts, EndWithTheOneThatIsStopped) {
  TuckerOptions options = noise_options();
  int sweeps = 0;
  options.on_sweep = [&](const SweepReport&) { return ++sweeps < 12 + 5; };
  int told = 0;

  const TuckerStartsReport report =
      fit_starts(noise(), options, 4, [&](const StartReport&, const TuckerModel&) { ++told; });

  ASSERT_EQ(report.starts.size(), 2U);
  EXPECT_EQ(told, 2);
  EXPECT_EQ(report.starts[1].stop_reason, StopReason::cancelled);
  EXPECT_EQ(report.starts[1].sweeps, 5U);
  EXPECT_FALSE(report.mean_match.has_value());
}

TEST(TuckerStarts, RefuseWhatBelongsToOneFit) {
  const MemoryTensor tensor = noise();
  const TuckerModel model = fit_tucker(tensor, noise_options());
  const auto refusal_of = [&](int starts, const auto& change) {
    TuckerOptions options = noise_options();
    change(options);
    try {
      fit_starts(tensor, options, starts);
    } catch (const Error& error) {
      return error.kind() == ErrorKind::invalid_argument ? std::string(error.what()) : "another kind";
    }
    return std::string("nothing");
  };
  const auto excludes = [&](const std::string& name, const auto& change) {
    EXPECT_THAT(refusal_of(2, change), testing::HasSubstr("`starts` and `" + name + "` exclude each other"));
  };

  EXPECT_THAT(refusal_of(0, [](TuckerOptions&) {}), testing::HasSubstr("at least 1"));
  excludes("initial", [&](TuckerOptions& options) { options.initial = &model; });
  excludes("resume", [](TuckerOptions& options) { options.resume = "checkpoint.h5"; });
  excludes("checkpoint", [](TuckerOptions& options) { options.checkpoint = "checkpoint.h5"; });
  excludes("trace", [](TuckerOptions& options) { options.compute.trace = "trace.json"; });
}

}  // namespace
}  // namespace blco
