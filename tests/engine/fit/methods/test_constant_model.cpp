// The best constant model of each loss, beside a search over constants with dense sums.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/ingest.hpp>
#include <blco/tensor_file.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "engine/common/progress_meter.hpp"
#include "engine/fit/methods/constant_model.hpp"
#include "tests/engine/dense_loss.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

// The least of a function with one valley, by golden sections.
double least_of(const std::function<double(double)>& function, double lower, double upper) {
  const double section = (std::sqrt(5.0) - 1) / 2;
  for (int steps = 0; steps < 80; ++steps) {
    const double a = upper - section * (upper - lower);
    const double b = lower + section * (upper - lower);
    (function(a) < function(b) ? upper : lower) = function(a) < function(b) ? b : a;
  }
  return function((lower + upper) / 2);
}

double of_constant(const CoordinateTensor& tensor, const Loss& loss, double constant) {
  double sum = 0;
  for_each_dense_entry(tensor, [&](const Point&, double x) { sum += dense_term(loss, x, constant); });
  return sum;
}

ConstantModel constant_model(const CoordinateTensor& tensor, const Loss& loss) {
  TemporaryFolder folder;
  ingest_files({folder.write("in.tns", as_text(tensor))}, folder / "in.blco",
               {.shape = tensor.shape, .chunk_nnz = 256});
  const ProgressCallback silent;
  ProgressMeter meter(silent);
  return find_constant_model(TensorFile(folder / "in.blco"), loss, 0, "", meter);
}

// A third of the cells, of sizes around 1, counts or ones.
CoordinateTensor sparse_tensor(LossKind kind) {
  CoordinateTensor tensor = random_coordinates({.shape = {12, 10, 9}, .nnz = 360, .seed = 3});
  std::mt19937_64 random(5);
  const std::map<Point, double> cells = summed(tensor);
  tensor.points.clear();
  tensor.values.clear();
  for (const auto& [at, value] : cells) {
    const bool bits = kind == LossKind::bernoulli_odds || kind == LossKind::bernoulli_logit;
    const bool counts = kind == LossKind::poisson || kind == LossKind::poisson_log;
    const double size = std::gamma_distribution<double>(2.0, 1.0)(random);
    tensor.points.push_back(at);
    tensor.values.push_back(bits ? 1.0 : counts ? 1 + std::floor(size) : size);
  }
  return tensor;
}

class ConstantModelOf : public testing::TestWithParam<Loss> {};

INSTANTIATE_TEST_SUITE_P(Losses, ConstantModelOf,
                         testing::Values(Loss{LossKind::gaussian}, Loss{LossKind::poisson}, Loss{LossKind::poisson_log},
                                         Loss{LossKind::bernoulli_odds}, Loss{LossKind::bernoulli_logit},
                                         Loss{LossKind::gamma}, Loss{LossKind::rayleigh}, Loss{LossKind::huber, 0.3},
                                         Loss{LossKind::huber, 30}, Loss{LossKind::beta, 1.5}));

TEST_P(ConstantModelOf, IsTheBestOfAllConstants) {
  const CoordinateTensor tensor = sparse_tensor(GetParam().kind);
  const bool is_logarithm = GetParam().kind == LossKind::poisson_log || GetParam().kind == LossKind::bernoulli_logit;

  const ConstantModel found = constant_model(tensor, GetParam());

  const auto objective = [&](double constant) { return of_constant(tensor, GetParam(), constant); };
  const double best = least_of(objective, is_logarithm ? -9 : 1e-9, is_logarithm ? 3 : 9);
  const double size = std::max(std::abs(best), 1.0);
  EXPECT_NEAR(found.objective, best, 1e-6 * size);
  EXPECT_NEAR(objective(found.value), best, 1e-6 * size);
}

TEST_P(ConstantModelOf, HasTheDevianceFromABestModelOfEachCell) {
  const CoordinateTensor tensor = sparse_tensor(GetParam().kind);
  const bool is_logarithm = GetParam().kind == LossKind::poisson_log || GetParam().kind == LossKind::bernoulli_logit;

  const ConstantModel found = constant_model(tensor, GetParam());

  double least = 0;
  for_each_dense_entry(tensor, [&](const Point&, double x) {
    const auto cell = [&](double m) { return dense_term(GetParam(), x, m); };
    least += std::min(cell(is_logarithm ? -40 : 0), least_of(cell, is_logarithm ? -40 : 0, is_logarithm ? 40 : 1e9));
  });
  EXPECT_NEAR(found.least, least, 1e-6 * std::max(std::abs(least), 1.0));
  EXPECT_NEAR(found.deviance(), found.objective - least, 1e-6 * std::max(std::abs(least), 1.0));
  EXPECT_EQ(found.explained(found.objective), 0);
  EXPECT_NEAR(found.explained((found.objective + found.least) / 2), 0.5, 1e-12);
}

// Far above the threshold, on both sides of zero, and in a third or all of the cells.
TEST(ConstantModel, IsTheBestForHuberBesideLargeValues) {
  for (const bool lists_all : {false, true}) {
    CoordinateTensor tensor = sparse_tensor(LossKind::huber);
    if (lists_all) {
      const std::map<Point, double> listed = summed(tensor);
      tensor.points.clear();
      tensor.values.clear();
      for_each_dense_entry(sparse_tensor(LossKind::gamma), [&](const Point& at, double) {
        tensor.points.push_back(at);
        tensor.values.push_back(listed.contains(at) ? listed.at(at) : -3.0 - static_cast<double>(at[0]));
      });
    }
    for (double& value : tensor.values) value *= 1000;
    const Loss loss{LossKind::huber, 0.5};

    const ConstantModel found = constant_model(tensor, loss);

    const auto objective = [&](double constant) { return of_constant(tensor, loss, constant); };
    const double best = least_of(objective, -20000, 20000);
    EXPECT_NEAR(found.objective, best, 1e-6 * best);
    EXPECT_NEAR(objective(found.value), best, 1e-6 * best);
  }
}

// Of a multiple of a tensor the deviance is the same multiple with poisson, a power of it with beta, and as it was with
// gamma and rayleigh.
TEST(ConstantModel, HasTheSameShareOfMultiplesOfATensor) {
  CoordinateTensor tensor{.shape = {12, 10, 9}, .points = {}, .values = {}};
  std::mt19937_64 random(5);
  for_each_dense_entry(sparse_tensor(LossKind::gamma), [&](const Point& at, double) {
    tensor.points.push_back(at);
    tensor.values.push_back(std::gamma_distribution<double>(2.0, 1.0)(random));
  });
  for (const auto& [loss, power] : {std::pair{Loss{LossKind::poisson}, 1.0},
                                    {Loss{LossKind::poisson_log}, 1.0},
                                    {Loss{LossKind::gamma}, 0.0},
                                    {Loss{LossKind::rayleigh}, 0.0},
                                    {Loss{LossKind::beta, 1.5}, 1.5},
                                    {Loss{LossKind::gaussian}, 2.0}}) {
    const double deviance = constant_model(tensor, loss).deviance();
    for (const double scale : {1e-5, 1e9, 1e15}) {
      SCOPED_TRACE(testing::Message() << to_string(loss) << ", scale " << scale);
      CoordinateTensor scaled = tensor;
      for (double& value : scaled.values) value *= scale;

      const ConstantModel found = constant_model(scaled, loss);

      EXPECT_NEAR(found.deviance() / std::pow(scale, power), deviance, 1e-3 * deviance);
    }
  }
}

TEST(ConstantModel, CountsTheOnesOfATensorThatStoresNoValues) {
  CoordinateTensor tensor{.shape = {10, 10, 10}, .points = {}, .values = {}};
  for (std::uint64_t i = 0; i < 8; ++i) {
    tensor.points.push_back({i, i, i});
    tensor.values.push_back(1);
  }

  const ConstantModel found = constant_model(tensor, {LossKind::bernoulli_logit});

  EXPECT_NEAR(found.value, std::log(8.0 / 992), 1e-12);
  EXPECT_NEAR(found.deviance(), -8 * std::log(0.008) - 992 * std::log(0.992), 1e-9);
}

TEST(ConstantModel, ExplainsAllWhereEveryCellIsEqual) {
  CoordinateTensor tensor{.shape = {2, 2}, .points = {{0, 0}, {0, 1}, {1, 0}, {1, 1}}, .values = {3, 3, 3, 3}};

  const ConstantModel found = constant_model(tensor, {});

  EXPECT_EQ(found.value, 3);
  EXPECT_EQ(found.explained(found.objective), 1);
}

}  // namespace
}  // namespace blco
