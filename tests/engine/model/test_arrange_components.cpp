// The order and the signs of a finished model: worked by hand, and by trying every way to flip.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <blco/cpd.hpp>
#include <blco/memory_tensor.hpp>
#include <cmath>
#include <random>

#include "engine/model/arrange_components.hpp"
#include "tests/engine/coordinate_tensor.hpp"
#include "tests/engine/ingest/coordinate_columns.hpp"

namespace blco {
namespace {

using testing::ElementsAre;

CpdModel small_model(std::vector<double> weights, std::vector<std::vector<double>> factors) {
  CpdModel model;
  model.rank = static_cast<int>(weights.size());
  model.weights = std::move(weights);
  model.factors = std::move(factors);
  for (const std::vector<double>& factor : model.factors) model.shape.push_back(factor.size() / model.weights.size());
  return model;
}

CpdModel random_model(const std::vector<std::uint64_t>& shape, std::size_t rank, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> weights;
  // Some weights are equal.
  for (std::size_t r = 0; r < rank; ++r) weights.push_back(static_cast<double>(random() % 5));
  std::vector<std::vector<double>> factors;
  for (const std::uint64_t length : shape) {
    std::vector<double>& factor = factors.emplace_back(static_cast<std::size_t>(length) * rank);
    for (double& number : factor) number = normal(random);
    for (std::size_t r = 0; r < rank; ++r) {  // as a fit leaves them, whose weights are norms
      double squares = 0;
      for (std::size_t at = r; at < factor.size(); at += rank) squares += factor[at] * factor[at];
      for (std::size_t at = r; at < factor.size(); at += rank) factor[at] /= std::sqrt(squares);
    }
  }
  return small_model(std::move(weights), std::move(factors));
}

std::vector<double> column(const CpdModel& model, std::size_t n, std::size_t r) {
  std::vector<double> numbers;
  const auto rank = static_cast<std::size_t>(model.rank);
  for (std::size_t i = 0; i < model.shape[n]; ++i) numbers.push_back(model.factors[n][i * rank + r]);
  return numbers;
}

double dominant_entry(const std::vector<double>& numbers) {
  return *std::ranges::max_element(numbers, {}, [](double x) { return std::abs(x); });
}

double share_of_squares(const std::vector<double>& numbers) {
  double squares = 0;
  for (const double x : numbers) squares += x * x;
  return dominant_entry(numbers) * dominant_entry(numbers) / squares;
}

// The columns of component `r` under the best of all even flips: fewest negative dominant entries, and of those that
// leave one, the one whose share is least.
std::vector<std::vector<double>> best_of_all_flips(const CpdModel& model, std::size_t r) {
  const std::size_t order = model.shape.size();
  std::vector<std::vector<double>> best;
  double least = 1e300;
  for (unsigned flips = 0; flips < 1U << order; ++flips) {
    if (std::popcount(flips) % 2 == 1) continue;
    std::vector<std::vector<double>> columns;
    double badness = 0;
    for (std::size_t n = 0; n < order; ++n) {
      columns.push_back(column(model, n, r));
      for (double& x : columns.back()) x = (flips >> n & 1) == 1 ? -x : x;
      if (dominant_entry(columns.back()) < 0) badness += 2 + share_of_squares(columns.back());
    }
    if (badness < least) {
      least = badness;
      best = columns;
    }
  }
  return best;
}

TEST(ArrangeComponents, SortsByWeightAndFlipsTwoColumns) {
  // Components 1 and 2 have the same norm; component 1 has negative dominant entries in the last two modes.
  CpdModel model = small_model({1, 5, 5}, {{1, 2, 20, 10, 20, 2}, {1, -2, 1, 0, 1, 2}, {1, -4, 3, 0, 3, 4}});

  arrange_components(model);

  EXPECT_THAT(model.weights, ElementsAre(5, 5, 1));
  EXPECT_THAT(model.factors[0], ElementsAre(2, 20, 1, 20, 2, 10));
  EXPECT_THAT(model.factors[1], ElementsAre(2, 1, 1, -1, 2, 0));
  EXPECT_THAT(model.factors[2], ElementsAre(4, 3, 1, -3, 4, 0));
}

TEST(ArrangeComponents, LeavesTheColumnNegativeThatHasNoClearDirection) {
  // The dominant entries hold 16/17, 4/8 and 9/10 of the squares; only the first one is negative.
  CpdModel model = small_model({1}, {{-4, 1}, {2, -2}, {1, 3}});

  arrange_components(model);

  EXPECT_THAT(model.factors[0], ElementsAre(4, -1));
  EXPECT_THAT(model.factors[1], ElementsAre(-2, 2));
  EXPECT_THAT(model.factors[2], ElementsAre(1, 3));
}

TEST(ArrangeComponents, LeavesTheLastOfEqualColumnsNegativeAndTakesTheFirstOfEqualEntries) {
  CpdModel model = small_model({1}, {{-3, 3}, {3, -3}, {3, -3}});

  arrange_components(model);

  EXPECT_THAT(model.factors[0], ElementsAre(3, -3));
  EXPECT_THAT(model.factors[1], ElementsAre(3, -3));
  EXPECT_THAT(model.factors[2], ElementsAre(-3, 3));
}

TEST(ArrangeComponents, CannotSettleTheSignOfASingleColumn) {
  CpdModel model = small_model({1, 2}, {{-4, 1, 1, -5}});

  arrange_components(model);

  EXPECT_THAT(model.factors[0], ElementsAre(1, -4, -5, 1));
}

TEST(ArrangeComponents, TakesAColumnOfZerosForTheOneThatIsLeft) {
  CpdModel model = small_model({0}, {{-4, 0}, {0, 0}});

  arrange_components(model);

  EXPECT_THAT(model.factors[0], ElementsAre(4, 0));
  for (const std::vector<double>& factor : model.factors) {
    for (const double number : factor) EXPECT_FALSE(std::signbit(number));
  }
}

TEST(ArrangeComponents, FindsTheBestOfAllFlipsAndIsDoneAfterOneCall) {
  for (const std::vector<std::uint64_t>& shape : std::vector<std::vector<std::uint64_t>>{
           {1}, {7}, {3, 4}, {5, 1, 2}, {6, 2, 9, 3}, {2, 3, 2, 3, 2}, {1, 1, 1, 1}}) {
    for (const std::size_t rank : {1u, 2u, 5u, 17u}) {
      const CpdModel given = random_model(shape, rank, shape.size() * 100 + rank);
      CpdModel model = given;
      std::vector<std::size_t> order;
      for (std::size_t r = 0; r < rank; ++r) order.push_back(r);
      std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t r) { return given.weights[r]; });

      arrange_components(model);

      for (std::size_t r = 0; r < rank; ++r) {
        EXPECT_EQ(model.weights[r], given.weights[order[r]]);
        const std::vector<std::vector<double>> expected = best_of_all_flips(given, order[r]);
        int flips = 0;
        for (std::size_t n = 0; n < shape.size(); ++n) {
          // Columns of one entry have equal shares: there the choice is another, but as good.
          if (std::ranges::count(shape, 1u) < 2) {
            EXPECT_EQ(column(model, n, r), expected[n]) << "mode " << n;
          }
          flips += dominant_entry(column(model, n, r)) == dominant_entry(column(given, n, order[r])) ? 0 : 1;
        }
        EXPECT_EQ(flips % 2, 0);
      }
      CpdModel again = model;
      arrange_components(again);
      EXPECT_EQ(again.weights, model.weights);
      EXPECT_EQ(again.factors, model.factors);
    }
  }
}

TEST(ArrangeComponents, IsWhatAFitReturns) {
  const CoordinateTensor coordinates = random_coordinates({.shape = {30, 30, 30}, .nnz = 4000, .seed = 3});
  const MemoryTensor tensor(CoordinateColumns<>(coordinates).arrays());

  const CpdModel model = fit_cpd(tensor, {.rank = 8, .max_sweeps = 5, .compute = {.devices = {"cpu"}}});

  EXPECT_TRUE(std::ranges::is_sorted(model.weights, std::ranges::greater{}));
  for (std::size_t r = 0; r < 8; ++r) {
    int negatives = 0;
    for (std::size_t n = 0; n < 3; ++n) negatives += dominant_entry(column(model, n, r)) < 0 ? 1 : 0;
    EXPECT_LE(negatives, 1) << "component " << r;
  }
}

}  // namespace
}  // namespace blco
