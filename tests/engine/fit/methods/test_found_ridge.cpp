// The ridge that completion finds by itself, without held-out entries: what it is worth on cells that no fit has seen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "tests/engine/fit/methods/completion_case.hpp"
#include "tests/engine/within_budget.hpp"

namespace blco {
namespace {

struct Ratings {
  CoordinateTensor known;
  CoordinateTensor unseen;
};

// Of users and items, both with long tails: biases, tastes of rank 2, and noise.
Ratings long_tailed_ratings(std::uint64_t seed, double noise) {
  constexpr std::size_t users = 200;
  constexpr std::size_t items = 300;
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const auto numbers = [&](std::size_t count, double size) {
    std::vector<double> drawn(count);
    for (double& number : drawn) number = size * normal(random);
    return drawn;
  };
  const std::vector<double> user_bias = numbers(users, 0.4);
  const std::vector<double> item_bias = numbers(items, 0.5);
  const std::vector<double> user_taste = numbers(2 * users, 0.6);
  const std::vector<double> item_taste = numbers(2 * items, 0.6);
  std::uniform_real_distribution<double> uniform;
  const auto draw = [&](std::size_t length) {
    const double at = std::pow(static_cast<double>(length) + 1, uniform(random)) - 1;
    return std::min(static_cast<std::size_t>(at), length - 1);
  };
  std::map<Point, double> cells;
  while (cells.size() < 6000) {
    const std::size_t u = draw(users);
    const std::size_t i = draw(items);
    const double taste = user_taste[2 * u] * item_taste[2 * i] + user_taste[2 * u + 1] * item_taste[2 * i + 1];
    cells[{u, i}] = 3.5 + user_bias[u] + item_bias[i] + taste + noise * normal(random);
  }
  Ratings ratings;
  ratings.known.shape = ratings.unseen.shape = {users, items};
  for (const auto& [cell, value] : cells) {
    CoordinateTensor& part = uniform(random) < 0.1 ? ratings.unseen : ratings.known;
    part.points.push_back(cell);
    part.values.push_back(value);
  }
  return ratings;
}

CpdOptions default_options(int components) {
  CpdOptions options{.method = CompletionMethod{}, .rank = components};
  options.compute.devices = {"cpu"};
  options.compute.threads = 1;
  return options;
}

double error_over(const CpdModel& model, const CoordinateTensor& entries) {
  double squares = 0;
  for (std::size_t i = 0; i < entries.points.size(); ++i) {
    squares += std::pow(entries.values[i] - model_value(model, entries.points[i]), 2);
  }
  return std::sqrt(squares / static_cast<double>(entries.points.size()));
}

double error_of_mean(const Ratings& ratings) {
  double mean = 0;
  for (const double value : ratings.known.values) mean += value / static_cast<double>(ratings.known.values.size());
  double squares = 0;
  for (const double value : ratings.unseen.values) squares += std::pow(value - mean, 2);
  return std::sqrt(squares / static_cast<double>(ratings.unseen.values.size()));
}

class FoundRidge : public testing::Test {
 protected:
  CpdModel fit(const CoordinateTensor& entries, const CpdOptions& options) {
    folders_.emplace_back();
    return fit_cpd(ingest_small_chunks(folders_.back(), entries, {.chunk_nnz = 500}), options);
  }

  std::list<TemporaryFolder> folders_;
};

TEST_F(FoundRidge, BeatsTheMeanOnUnseenCellsWhateverTheRank) {
  for (const std::uint64_t seed : {1, 2}) {
    for (const double noise : {0.5, 1.5}) {
      const Ratings ratings = long_tailed_ratings(seed, noise);
      const double mean_error = error_of_mean(ratings);
      for (const int components : {1, 8}) {
        const CpdModel model = fit(ratings.known, default_options(components));

        EXPECT_LT(error_over(model, ratings.unseen), mean_error) << components << ", noise " << noise;
        EXPECT_GT(model.found_ridge.value(), 0);
      }
    }
  }
}

TEST_F(FoundRidge, IsTheSameInEveryUnitOfTheValues) {
  Ratings ratings = long_tailed_ratings(3, 0.5);
  const CpdModel expected = fit(ratings.known, default_options(4));
  for (double& value : ratings.known.values) value *= 0x1p40;

  const CpdModel model = fit(ratings.known, default_options(4));

  EXPECT_EQ(model.found_ridge, expected.found_ridge);
  for (const Point& cell : ratings.unseen.points) {
    EXPECT_EQ(model_value(model, cell), 0x1p40 * model_value(expected, cell));
  }
}

TEST_F(FoundRidge, IsToldByEachSweepAndKeptInTheFile) {
  const Ratings ratings = long_tailed_ratings(4, 0.5);
  CpdOptions options = default_options(4);
  std::vector<double> ridges;
  options.on_sweep = [&](const SweepReport& report) {
    ridges.push_back(report.ridge.value());
    return true;
  };

  const CpdModel model = fit(ratings.known, options);
  save(model, folders_.back() / "model.h5");

  EXPECT_EQ(ridges.front(), 6);
  EXPECT_EQ(ridges.back(), model.found_ridge);
  EXPECT_EQ(model.ridge, automatic_ridge);
  EXPECT_EQ(load_model(folders_.back() / "model.h5").found_ridge, model.found_ridge);
}

TEST_F(FoundRidge, GoesOnWithTheSameBitsAfterAResume) {
  const Ratings ratings = long_tailed_ratings(5, 0.5);
  const TemporaryFolder folder;
  const TensorFile tensor = ingest_small_chunks(folder, ratings.known, {.chunk_nnz = 500});
  CpdOptions options = default_options(3);
  const CpdModel expected = fit_cpd(tensor, options);
  ASSERT_GT(expected.sweeps(), 12);
  for (const int until : {1, 5, static_cast<int>(expected.sweeps()) - 1}) {
    CpdOptions first = default_options(3);
    first.max_sweeps = until;
    first.checkpoint = folder / "half.h5";
    fit_cpd(tensor, first);
    options.resume = folder / "half.h5";

    const CpdModel model = fit_cpd(tensor, options);

    EXPECT_EQ(model.found_ridge, expected.found_ridge);
    expect_same_bits(model, expected);
  }
}

TEST_F(FoundRidge, IsKnownToAFitResumedAfterItsLastSweep) {
  const Ratings ratings = long_tailed_ratings(5, 0.5);
  const TemporaryFolder folder;
  const TensorFile tensor = ingest_small_chunks(folder, ratings.known, {.chunk_nnz = 500});
  CpdOptions options = default_options(3);
  options.max_sweeps = 5;
  options.checkpoint = folder / "whole.h5";
  const CpdModel expected = fit_cpd(tensor, options);
  ASSERT_TRUE(expected.found_ridge);
  options.resume = options.checkpoint;

  EXPECT_EQ(fit_cpd(tensor, options).found_ridge, expected.found_ridge);
}

// A constant, two components of either sign, and noise of 0.1: a large ridge leaves only the constant.
TEST_F(FoundRidge, IsSmallEnoughForComponentsBeyondTheMean) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::vector<double> rows(2 * 2 * 30);
    for (double& number : rows) number = normal(random);
    CoordinateTensor known{{30, 30}, {}, {}};
    CoordinateTensor validation = known;
    CoordinateTensor unseen = known;
    for (const Point& cell : cells_of(known.shape)) {
      const double* const a = &rows[2 * cell[0]];
      const double* const b = &rows[2 * (30 + cell[1])];
      const std::uint64_t part = random() % 4;
      CoordinateTensor& cells = part < 2 ? known : part == 2 ? validation : unseen;
      cells.points.push_back(cell);
      cells.values.push_back(3 + a[0] * b[0] + a[1] * b[1] + 0.1 * normal(random));
    }
    CpdOptions options = default_options(3);
    EXPECT_LT(error_over(fit(known, options), unseen), 0.25) << seed;
    const TemporaryFolder folder;
    const TensorFile held_out = ingest_small_chunks(folder, validation, {.chunk_nnz = 500});
    options.method = CompletionMethod{.validation = &held_out};
    EXPECT_LT(error_over(fit(known, options), unseen), 0.25) << seed;
  }
}

// A quarter of the cells of a model of rank 2: about 15 entries a row, no noise.
TEST_F(FoundRidge, IsNoneWhereTheEntriesHaveNoNoise) {
  const CpdModel truth = uniform_model({60, 60}, 2, 7);
  CoordinateTensor entries{{60, 60}, {}, {}};
  std::mt19937_64 random(1);
  for (const Point& cell : cells_of(entries.shape)) {
    if (random() % 4 != 0) continue;
    entries.points.push_back(cell);
    entries.values.push_back(model_value(truth, cell));
  }
  CpdOptions options = default_options(2);
  options.tolerance = 1e-9;

  const CpdModel model = fit(entries, options);

  EXPECT_EQ(model.found_ridge, 0);
  EXPECT_LT(error_over(model, entries), 1e-3);
}

TEST_F(FoundRidge, IsNoneWhereRowsHaveEntriesEnoughOrThatIsAsked) {
  const CoordinateTensor entries = noisy_cells({20, 18, 16}, 2500, 3);
  CpdOptions options = default_options(3);
  options.max_sweeps = 5;

  const CpdModel model = fit(entries, options);

  EXPECT_EQ(model.found_ridge, 0);
  options.ridge = 0;
  const CpdModel without = fit(entries, options);
  EXPECT_EQ(without.found_ridge, std::nullopt);
  expect_same_bits(model, without);
}

TEST_F(FoundRidge, OfFewEntriesIsOne) {
  const CoordinateTensor entries{{4, 4}, {{0, 0}, {0, 1}, {1, 0}, {2, 3}, {3, 2}}, {5, 4, 3, 4, 4}};

  const CpdModel model = fit(entries, default_options(3));

  EXPECT_NEAR(model.found_ridge.value(), 1, 1e-15);
  for (const Point& cell : cells_of(entries.shape)) EXPECT_NEAR(model_value(model, cell), 4, 2);
}

// What a first try has: a few ratings, all alike or not. The mean is the oracle.
TEST_F(FoundRidge, IsNoWorseThanTheMeanOfFewEntries) {
  std::mt19937_64 random(5);
  for (const std::vector<std::uint64_t>& shape :
       std::vector<std::vector<std::uint64_t>>{{2, 2, 2}, {4, 4}, {8, 8, 4}}) {
    for (const std::size_t count : {1, 2, 4, 12, 40}) {
      for (const int components : {1, 2, 4}) {
        for (const bool are_alike : {true, false}) {
          std::map<Point, double> cells;
          for (std::size_t i = 0; i < count; ++i) {
            Point point;
            for (const std::uint64_t length : shape) point.push_back(random() % length);
            cells[point] = are_alike ? 4 : static_cast<double>(1 + random() % 5);
          }
          CoordinateTensor tensor{shape, {}, {}};
          double sum = 0;
          for (const auto& [point, value] : cells) {
            tensor.points.push_back(point);
            tensor.values.push_back(value);
            sum += value;
          }
          const TemporaryFolder folder;
          const CpdModel model =
              fit_cpd(ingest_small_chunks(folder, tensor), {.method = CompletionMethod{}, .rank = components});

          const double mean = sum / static_cast<double>(cells.size());
          double of_model = 0;
          double of_mean = 0;
          for (const auto& [point, value] : cells) {
            of_model += std::pow(value - model_value(model, point), 2);
            of_mean += std::pow(value - mean, 2);
          }
          const double slack = std::pow(0.05 * mean, 2) * static_cast<double>(cells.size());
          EXPECT_LE(of_model, of_mean + slack)
              << shape.size() << " modes, " << cells.size() << " entries, rank " << components;
        }
      }
    }
  }
}

}  // namespace
}  // namespace blco
