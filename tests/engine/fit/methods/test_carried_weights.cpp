// Fits with modes that keep their scale beside others that are normalised: the weights lie in one of these meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/memory_tensor.hpp>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/fit/cp_fit.hpp"
#include "tests/engine/fit/dense_model.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

constexpr RowConstraint free_rows = {};
constexpr RowConstraint simplex_rows{.set = RowSet::simplex};
constexpr RowConstraint positive_rows{.set = RowSet::nonnegative};

// All cells of 12 x 10 x 8, in several chunks: shares of three components, times positive columns that add up to 15.
MemoryTensor mixture() {
  std::mt19937_64 random(21);
  const auto draw = [&] { return static_cast<double>(1 + random() % 99) / 100; };
  std::vector<std::vector<double>> factors = {std::vector<double>(36), std::vector<double>(30),
                                              std::vector<double>(24)};
  for (std::vector<double>& factor : factors) {
    for (double& number : factor) number = draw() * draw() * 5;
  }
  for (std::size_t i = 0; i < 12; ++i) {
    const double sum = factors[0][3 * i] + factors[0][3 * i + 1] + factors[0][3 * i + 2];
    for (std::size_t r = 0; r < 3; ++r) factors[0][3 * i + r] /= sum;
  }
  std::vector<std::vector<std::uint32_t>> places(3);
  std::vector<double> values;
  for (std::uint32_t i = 0; i < 12 * 10 * 8; ++i) {
    const std::vector<std::uint32_t> place = {i / 80, i / 8 % 10, i % 8};
    double value = 0;
    for (std::size_t r = 0; r < 3; ++r) {
      value += factors[0][3 * place[0] + r] * factors[1][3 * place[1] + r] * factors[2][3 * place[2] + r];
    }
    for (std::size_t n = 0; n < 3; ++n) places[n].push_back(place[n]);
    values.push_back(value);
  }
  return MemoryTensor({{places[0], places[1], places[2]}, values}, {.shape = {12, 10, 8}, .chunk_nnz = 256});
}

CpdOptions mixed_options(const std::vector<RowConstraint>& constraints, int sweeps) {
  CpdOptions options;
  options.method = AlsMethod{constraints};
  options.rank = 3;
  options.max_sweeps = sweeps;
  options.tolerance = 0;
  options.compute.devices = {"cpu"};
  options.compute.threads = 1;
  return options;
}

void expect_equal_models(const CpdModel& actual, const CpdModel& expected) {
  EXPECT_EQ(actual.weights, expected.weights);
  EXPECT_EQ(actual.factors, expected.factors);
  EXPECT_EQ(actual.fit_history, expected.fit_history);
}

TEST(CarriedWeights, LetSharesBeFound) {
  const MemoryTensor tensor = mixture();

  const CpdModel model = fit_cpd(tensor, mixed_options({simplex_rows, positive_rows, positive_rows}, 400));

  EXPECT_GT(model.fit(), 0.999);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_NEAR(model.factors[0][3 * i] + model.factors[0][3 * i + 1] + model.factors[0][3 * i + 2], 1, 1e-12);
  }
}

TEST(CarriedWeights, AreBackWhereTheyWereAfterASweepThatWasCancelled) {
  const MemoryTensor tensor = mixture();
  // The mode that carries the weights, the shortest one, comes behind the mode that is updated, and before it.
  for (const auto& constraints : {std::vector<RowConstraint>{simplex_rows, free_rows, positive_rows},
                                  std::vector<RowConstraint>{positive_rows, free_rows, simplex_rows}}) {
    const CpdModel four = fit_cpd(tensor, mixed_options(constraints, 4));
    for (const std::uint64_t nonzeros : {1U, 500U, 961U, 1500U, 1921U, 2500U}) {
      CpdOptions stopped = mixed_options(constraints, 9);
      stopped.on_progress = [nonzeros](const Progress& progress) {
        return progress.sweep != 5 || progress.nonzeros < nonzeros;
      };
      ProgressMeter every_chunk(stopped.on_progress, 0, std::chrono::milliseconds(0));
      const FitStart start(tensor.summary(), stopped);
      Job job(tensor, stopped.compute, fit_needs(tensor, stopped));
      ASSERT_TRUE(job.plan().keep_previous);

      const CpdModel model = CpFit(tensor, start, job, job.make_workers(&every_chunk), every_chunk).run();

      EXPECT_EQ(model.stop_reason, StopReason::cancelled);
      expect_equal_models(model, four);
    }
  }
}

TEST(CarriedWeights, ComeBackFromACheckpoint) {
  const MemoryTensor tensor = mixture();
  const TemporaryFolder folder;
  const std::vector<RowConstraint> constraints = {free_rows, simplex_rows, positive_rows};
  CpdOptions first = mixed_options(constraints, 3);
  first.checkpoint = folder / "checkpoint.h5";
  fit_cpd(tensor, first);
  CpdOptions second = mixed_options(constraints, 7);
  second.resume = first.checkpoint;

  expect_equal_models(fit_cpd(tensor, second), fit_cpd(tensor, mixed_options(constraints, 7)));
}

// Where all modes keep their scale, the weights have one value, which no limit holds for.
TEST(CommonWeight, IsTheBestForTheRows) {
  const RowConstraint halves{.set = RowSet::box, .lower = 0, .upper = 0.5};
  const RowConstraint large{.set = RowSet::box, .lower = 1, .upper = 2};
  for (const RowConstraint& constraint : {simplex_rows, halves, large}) {
    for (const int components : {1, 2}) {
      SCOPED_TRACE(to_string(constraint) + ", rank " + std::to_string(components));
      const std::vector<std::uint64_t> shape{5, 4, 3};
      const CpdModel truth = uniform_model(shape, 2, 9);
      CoordinateTensor cells{shape, cells_of(shape), {}};
      for (const Point& cell : cells.points) cells.values.push_back(components == 1 ? 3 : 7 * model_value(truth, cell));
      const TemporaryFolder folder;
      const TensorFile tensor = ingest_small_chunks(folder, cells);
      CpdOptions options = mixed_options({constraint, constraint, constraint}, 40);
      options.rank = components;

      CpdModel model = fit_cpd(tensor, options);

      const auto residual = [&] {
        double sum = 0;
        for (std::size_t i = 0; i < cells.points.size(); ++i) {
          sum += std::pow(cells.values[i] - model_value(model, cells.points[i]), 2);
        }
        return sum;
      };
      const double best = residual();
      EXPECT_NEAR(1 - std::sqrt(best / tensor.summary().sum_of_squares), model.fit(), 1e-7);
      if (components == 1) {
        EXPECT_LT(best, 1e-10 * tensor.summary().sum_of_squares);
      }
      for (const double factor : {0.999, 1.001 / 0.999}) {
        for (double& weight : model.weights) weight *= factor;
        EXPECT_GE(residual(), best);
      }

      // A fit that goes on begins where the last one ended.
      model = fit_cpd(tensor, options);
      CpdOptions more = options;
      more.initial = &model;
      more.max_sweeps = 1;
      EXPECT_GE(fit_cpd(tensor, more).fit(), model.fit() - 1e-4);
    }
  }
}

}  // namespace
}  // namespace blco
