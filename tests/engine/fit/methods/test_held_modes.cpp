// Held modes: their factors stay, and the rows of the other ones are those of problems written out densely.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/cpd.hpp>
#include <blco/ingest.hpp>
#include <cmath>
#include <numeric>
#include <random>
#include <string>

#include "blco/error.hpp"
#include "tests/engine/fit/dense_model.hpp"

namespace blco {
namespace {

constexpr std::size_t free_mode = 1;

// Whole numbers from 1 to 4 in a third of the cells, so that every method takes them; ones for `ones`.
CoordinateTensor listed_cells(std::uint64_t seed, bool ones) {
  CoordinateTensor tensor = random_coordinates({.shape = {9, 7, 8}, .nnz = 170, .seed = seed});
  const std::map<Point, double> cells = summed(tensor);
  tensor.points.clear();
  tensor.values.clear();
  std::mt19937_64 random(seed);
  for (const auto& [at, value] : cells) {
    tensor.points.push_back(at);
    tensor.values.push_back(ones ? 1.0 : static_cast<double>(1 + random() % 4));
  }
  return tensor;
}

void constrain(CpdMethod& method, const std::vector<RowConstraint>& constraints) {
  std::visit([&](auto& options) { options.constraints = constraints; }, method);
}

CpdOptions fit_options(CpdMethod method, int sweeps, const CpdModel* initial = nullptr) {
  CpdOptions options{.method = std::move(method), .rank = 3, .max_sweeps = sweeps, .tolerance = 0};
  options.compute.devices = {"cpu"};
  options.compute.threads = 1;
  options.initial = initial;
  return options;
}

const RowConstraint held{.set = RowSet::held};

// A fit of other entries, from a model of random numbers whose columns have no norm of 1, nor their order.
struct Refit {
  explicit Refit(CpdMethod method, int sweeps = 3, const RowConstraint& of_free = {}, bool ones = false)
      : entries(listed_cells(5, ones)), start(uniform_model(entries.shape, 3, 8)) {
    for (std::vector<double>& factor : start.factors) {
      for (double& number : factor) number = std::abs(number) + 0.01;
    }
    start.weights = {0.5, 3, 2};
    constrain(method, {held, of_free, held});
    const TemporaryFolder folder;
    model = fit_cpd(ingest_small_chunks(folder, entries), fit_options(method, sweeps, &start));
  }

  CoordinateTensor entries;
  CpdModel start;
  CpdModel model;

  struct Cell {
    std::vector<double> h;  // the product of the held rows
    double x;
  };
  std::vector<Cell> cells_of_row(std::uint64_t row) const {
    const std::map<Point, double> listed = summed(entries);
    std::vector<Cell> cells;
    for (const Point& at : cells_of(entries.shape)) {
      if (at[free_mode] != row) continue;
      Cell& cell = cells.emplace_back(Cell{std::vector<double>(3), listed.contains(at) ? listed.at(at) : 0.0});
      for (std::size_t r = 0; r < 3; ++r) cell.h[r] = start.factors[0][at[0] * 3 + r] * start.factors[2][at[2] * 3 + r];
    }
    return cells;
  }
  std::vector<double> weighted_row(std::uint64_t row) const {
    std::vector<double> numbers(3);
    for (std::size_t r = 0; r < 3; ++r) numbers[r] = model.weights[r] * model.factors[free_mode][row * 3 + r];
    return numbers;
  }
};

// Of |x - sum_r a_r h_r|^2 over all cells of the row: coordinate by coordinate to the end, at 0 or above if asked for.
std::vector<double> least_squares_row(const Refit& refit, std::uint64_t row, bool nonnegative) {
  std::vector<double> system(9);
  std::vector<double> right(3);
  for (const auto& [h, x] : refit.cells_of_row(row)) {
    for (std::size_t r = 0; r < 3; ++r) {
      right[r] += x * h[r];
      for (std::size_t s = 0; s < 3; ++s) system[r * 3 + s] += h[r] * h[s];
    }
  }
  std::vector<double> a(3);
  for (int round = 0; round < 20'000; ++round) {
    for (std::size_t r = 0; r < 3; ++r) {
      double sum = right[r];
      for (std::size_t s = 0; s < 3; ++s) sum -= s == r ? 0 : system[r * 3 + s] * a[s];
      a[r] = nonnegative ? std::max(0.0, sum / system[r * 3 + r]) : sum / system[r * 3 + r];
    }
  }
  return a;
}

// Of the Poisson likelihood: expectation and maximisation to the end.
std::vector<double> most_likely_row(const Refit& refit, std::uint64_t row) {
  const std::vector<Refit::Cell> cells = refit.cells_of_row(row);
  std::vector<double> a(3, 1.0);
  for (int round = 0; round < 5000; ++round) {
    std::vector<double> shares(3);
    std::vector<double> sums(3);
    for (const auto& [h, x] : cells) {
      const double m = std::inner_product(h.begin(), h.end(), a.begin(), 0.0);
      for (std::size_t r = 0; r < 3; ++r) {
        shares[r] += x * a[r] * h[r] / m;
        sums[r] += h[r];
      }
    }
    for (std::size_t r = 0; r < 3; ++r) a[r] = shares[r] / sums[r];
  }
  return a;
}

struct Case {
  std::string name;
  CpdMethod method;
  RowConstraint of_free = {};
  bool ones = false;
};

class HeldModes : public testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(
    Methods, HeldModes,
    testing::Values(
        Case{"als", AlsMethod{}}, Case{"als_nonnegative", AlsMethod{}, {.set = RowSet::nonnegative}},
        Case{"als_box", AlsMethod{}, {.set = RowSet::box, .lower = 0, .upper = 0.5}},
        Case{"als_l1", AlsMethod{}, {.l1 = 0.1}}, Case{"apr", AprMethod{}}, Case{"gcp_gaussian", GcpMethod{}},
        Case{"gcp_poisson", GcpMethod{.loss = {LossKind::poisson}}},
        Case{"gcp_huber", GcpMethod{.loss = {LossKind::huber, 0.5}}, {.set = RowSet::nonnegative}},
        Case{"gcp_odds_by_adam", GcpAdamMethod{.loss = {LossKind::bernoulli_odds}, .samples = 100}, {}, true},
        Case{"complete", CompletionMethod{}}),
    [](const auto& which) { return which.param.name; });

TEST_P(HeldModes, KeepEveryBitOfTheirFactors) {
  const Refit refit(GetParam().method, 3, GetParam().of_free, GetParam().ones);

  EXPECT_EQ(refit.model.factors[0], refit.start.factors[0]);
  EXPECT_EQ(refit.model.factors[2], refit.start.factors[2]);
  EXPECT_NE(refit.model.factors[free_mode], refit.start.factors[free_mode]);
  const std::vector<double>& history = refit.model.fit_history;
  EXPECT_TRUE(std::is_sorted(history.begin(), history.end(), [](double a, double b) { return a < b - 1e-12; }));
  const std::vector<double>& objectives = refit.model.objective_history;
  EXPECT_TRUE(std::is_sorted(objectives.begin(), objectives.end(), std::greater<>()));
}

TEST_P(HeldModes, AreAskedForByAResume) {
  const TemporaryFolder folder;
  const CoordinateTensor entries = listed_cells(5, GetParam().ones);
  CpdModel start = uniform_model(entries.shape, 3, 8);
  for (std::vector<double>& factor : start.factors) {
    for (double& number : factor) number = std::abs(number) + 0.01;
  }
  CpdMethod method = GetParam().method;
  constrain(method, {held, GetParam().of_free, held});
  CpdOptions options = fit_options(method, 2, &start);
  options.checkpoint = folder / "checkpoint.h5";
  const TensorFile tensor = ingest_small_chunks(folder, entries);
  fit_cpd(tensor, options);
  options = fit_options(method, 4, &start);
  const CpdModel whole = fit_cpd(tensor, options);
  options.initial = nullptr;
  options.resume = folder / "checkpoint.h5";

  const CpdModel resumed = fit_cpd(tensor, options);

  EXPECT_EQ(resumed.factors, whole.factors);
  EXPECT_EQ(resumed.weights, whole.weights);
  constrain(options.method, {});
  EXPECT_THROW(fit_cpd(tensor, options), Error);
}

TEST(FoldIn, RowsOfLeastSquaresAreThoseOfNormalEquations) {
  const Refit refit(AlsMethod{}, 1);

  for (std::uint64_t row = 0; row < refit.entries.shape[free_mode]; ++row) {
    const std::vector<double> expected = least_squares_row(refit, row, false);
    EXPECT_THAT(refit.weighted_row(row), testing::Pointwise(testing::DoubleNear(1e-12), expected));
  }
}

TEST(FoldIn, NonnegativeRowsAreThoseOfCoordinateDescent) {
  const Refit refit(AlsMethod{}, 300, {.set = RowSet::nonnegative});

  for (std::uint64_t row = 0; row < refit.entries.shape[free_mode]; ++row) {
    const std::vector<double> expected = least_squares_row(refit, row, true);
    EXPECT_THAT(refit.weighted_row(row), testing::Pointwise(testing::DoubleNear(1e-9), expected));
  }
}

TEST(FoldIn, RowsOfCountsAreTheMostLikely) {
  const Refit refit(AprMethod{}, 1000);

  for (std::uint64_t row = 0; row < refit.entries.shape[free_mode]; ++row) {
    const std::vector<double> expected = most_likely_row(refit, row);
    EXPECT_THAT(refit.weighted_row(row), testing::Pointwise(testing::DoubleNear(1e-6), expected));
  }
}

// The second component expects nine tenths of its counts where there are none, so that each update divides it by ten.
TEST(FoldIn, ACountsComponentThatShrinksBeyondTheSmallestNumberIsNone) {
  const TemporaryFolder folder;
  const CoordinateTensor entries{.shape = {10, 2, 1}, .points = {{0, 0, 0}, {0, 1, 0}}, .values = {3, 5}};
  CpdModel start = uniform_model(entries.shape, 2, 8);
  for (std::size_t i = 0; i < 10; ++i) start.factors[0][2 * i] = i == 0 ? 1 : 0;
  for (std::size_t i = 0; i < 10; ++i) start.factors[0][2 * i + 1] = 0.1;
  start.factors[1] = {1, 1, 1, 1};
  start.factors[2] = {1, 1};
  CpdOptions options = fit_options(AprMethod{.constraints = {held, {}, held}}, 60, &start);
  options.rank = 2;

  const CpdModel model = fit_cpd(ingest_small_chunks(folder, entries), options);

  EXPECT_NEAR(model_value(model, {0, 0, 0}), 3, 1e-9);
  EXPECT_NEAR(model_value(model, {0, 1, 0}), 5, 1e-9);
  EXPECT_NEAR(model_value(model, {4, 1, 0}), 0, 1e-9);
}

TEST(FoldIn, NewIndicesOfAFreeModeGetTheRowsOfTheOldModel) {
  const TemporaryFolder folder;
  const CoordinateTensor entries = listed_cells(5, false);
  CpdModel start = uniform_model(entries.shape, 3, 8);
  start.shape[free_mode] = 4;
  start.factors[free_mode].resize(4 * 3);
  CpdOptions options = fit_options(AlsMethod{{held, {}, held}}, 2, &start);

  const CpdModel model = fit_cpd(ingest_small_chunks(folder, entries), options);

  EXPECT_EQ(model.factors[0], start.factors[0]);
  EXPECT_EQ(model.shape, entries.shape);
  EXPECT_NEAR(model.fit_history[0], model.fit_history[1], 1e-12);
}

TEST(HeldModesRefuse, WhatDoesNotGoTogether) {
  const TemporaryFolder folder;
  const CoordinateTensor entries = listed_cells(5, false);
  const TensorFile tensor = ingest_small_chunks(folder, entries);
  const auto refuses = [&](const CpdOptions& options, const std::string& message) {
    EXPECT_THAT([&] { fit_cpd(tensor, options); }, testing::ThrowsMessage<Error>(message));
  };
  CpdModel start = uniform_model(entries.shape, 3, 8);

  refuses(fit_options(AlsMethod{{held, {}, held}}, 1),
          "a held mode keeps the factor of a model; give one as `initial`");
  refuses(fit_options(AlsMethod{{held, held, held}}, 1, &start),
          "all modes are held, so that nothing is left to fit; hold all but one, or fewer");
  start.shape[0] = 5;
  start.factors[0].resize(5 * 3);
  refuses(fit_options(AlsMethod{{held, {}, held}}, 1, &start),
          "mode 0 is held, but 4 of its indices are not in the initial model; leave out their entries, or do not "
          "hold that mode");
}

}  // namespace
}  // namespace blco
