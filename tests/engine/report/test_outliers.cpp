// Leverage of rows, and what a model misses in each slice, beside dense loops over all cells.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "engine/report/outliers.hpp"
#include "tests/thread_executor.hpp"

namespace blco {
namespace {

CpdModel outlier_model() {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  CpdModel model;
  model.shape = {5, 4, 3};
  model.rank = 2;
  model.weights = {3, -0.5};
  for (const std::uint64_t length : model.shape) {
    for (double& number : model.factors.emplace_back(length * 2)) number = normal(random);
  }
  return model;
}

// Every third cell is listed, one of them with a zero.
double listed_value(std::size_t cell) { return cell == 9 ? 0 : 0.25 * static_cast<double>(cell % 11) - 1; }

struct DenseErrors {
  std::vector<std::vector<double>> all{std::vector<double>(5), std::vector<double>(4), std::vector<double>(3)};
  std::vector<std::vector<double>> listed = all;
};

DenseErrors add_cells(const CpdModel& model, RowErrors& errors) {
  DenseErrors dense;
  for (std::size_t number = 0; number < 60; ++number) {
    const std::uint64_t cell[] = {number / 12, number / 3 % 4, number % 3};
    const bool is_listed = number % 3 == 0;
    const double x = is_listed ? listed_value(number) : 0;
    const double m = model.value(cell);
    if (is_listed) errors.add(cell, x, m);
    for (std::size_t n = 0; n < 3; ++n) {
      dense.all[n][cell[n]] += (x - m) * (x - m);
      if (is_listed) dense.listed[n][cell[n]] += (x - m) * (x - m);
    }
  }
  return dense;
}

void expect_rows_near(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-12) << i;
}

TEST(RowErrors, AreThoseOfAllCellsOfASlice) {
  const CpdModel model = outlier_model();
  RowErrors errors(model);
  ThreadExecutor executor(3);

  const DenseErrors dense = add_cells(model, errors);
  const auto found = std::move(errors).finish(executor);

  for (std::size_t n = 0; n < 3; ++n) expect_rows_near(found[n], dense.all[n]);
}

TEST(RowErrors, OfACompletionAreThoseOfItsEntries) {
  CpdModel model = outlier_model();
  model.method = "complete";
  RowErrors errors(model);
  ThreadExecutor executor(1);

  const DenseErrors dense = add_cells(model, errors);
  const auto found = std::move(errors).finish(executor);

  for (std::size_t n = 0; n < 3; ++n) expect_rows_near(found[n], dense.listed[n]);
}

TEST(RowErrors, AreNotDefinedForLogarithmsAndOdds) {
  CpdModel model;
  for (const auto& [kind, expected] :
       {std::pair(LossKind::gaussian, true), std::pair(LossKind::poisson, true),
        std::pair(LossKind::poisson_log, false), std::pair(LossKind::bernoulli_odds, false),
        std::pair(LossKind::bernoulli_logit, false)}) {
    model.loss.kind = kind;
    EXPECT_EQ(RowErrors::are_defined(model), expected) << to_string(model.loss);
  }
}

// By Gram and Schmidt: the sum of squares of a row of an orthonormal basis of the columns.
std::vector<double> leverages_by_projection(std::vector<double> factor, std::size_t rank) {
  const std::size_t rows = factor.size() / rank;
  std::vector<double> sums(rows);
  for (std::size_t r = 0; r < rank; ++r) {
    for (int again = 0; again < 2; ++again) {
      for (std::size_t s = 0; s < r; ++s) {
        double product = 0;
        for (std::size_t i = 0; i < rows; ++i) product += factor[i * rank + r] * factor[i * rank + s];
        for (std::size_t i = 0; i < rows; ++i) factor[i * rank + r] -= product * factor[i * rank + s];
      }
    }
    double norm = 0;
    for (std::size_t i = 0; i < rows; ++i) norm += factor[i * rank + r] * factor[i * rank + r];
    for (std::size_t i = 0; i < rows; ++i) {
      factor[i * rank + r] = norm < 1e-20 ? 0 : factor[i * rank + r] / std::sqrt(norm);
      sums[i] += factor[i * rank + r] * factor[i * rank + r];
    }
  }
  return sums;
}

TEST(Leverages, AreThoseOfAProjectionOntoTheColumns) {
  std::mt19937 random(4);
  std::normal_distribution<double> normal;
  std::vector<double> factor(40 * 5);
  for (double& number : factor) number = normal(random);
  ThreadExecutor executor(2);

  const std::vector<double> found = leverages(factor, 5, executor);

  expect_rows_near(found, leverages_by_projection(factor, 5));
  EXPECT_NEAR(std::accumulate(found.begin(), found.end(), 0.0), 5, 1e-12);
  for (std::size_t i = 1; i < factor.size(); i += 5) factor[i] *= 1e9;
  expect_rows_near(leverages(factor, 5, executor), found);
}

TEST(Leverages, OfDependentColumnsAddUpToTheirRank) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  std::vector<double> factor;
  for (int i = 0; i < 30; ++i) {
    const double a = normal(random);
    const double b = normal(random);
    factor.insert(factor.end(), {a, b, 2 * a, 0, a - b});
  }
  ThreadExecutor executor(1);

  const std::vector<double> found = leverages(factor, 5, executor);

  EXPECT_NEAR(std::accumulate(found.begin(), found.end(), 0.0), 2, 1e-8);
  const std::vector<double> expected = leverages_by_projection(factor, 5);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-8) << i;
}

TEST(Leverages, OfFewerRowsThanColumnsAreOne) {
  ThreadExecutor executor(1);

  expect_rows_near(leverages({1, 2, 3, -4, 5, 6}, 3, executor), {1, 1});
}

}  // namespace
}  // namespace blco
