// Components that cancel each other: planted ones, worked by hand, and those of a tensor that has no best model.
#include <gtest/gtest.h>

#include <blco/cpd.hpp>
#include <blco/memory_tensor.hpp>
#include <blco/model_summary.hpp>
#include <cmath>

#include "tests/engine/ingest/coordinate_columns.hpp"

namespace blco {
namespace {

// Three components of two modes. The columns of components 0 and 2 have the cosines 0.8 and -0.6, those of component 1
// are at right angles to both.
CpdModel planted_model(std::vector<double> weights, double tensor_norm) {
  CpdModel model;
  model.shape = {3, 3};
  model.rank = 3;
  model.weights = std::move(weights);
  model.factors = {{1, 0, 0.8, 0, 0, 0.6, 0, 1, 0}, {1, 0, -0.6, 0, 0, 0.8, 0, 1, 0}};
  model.tensor_nnz = 9;
  model.tensor_sum_of_squares = tensor_norm * tensor_norm;
  return model;
}

TEST(Cancellation, IsFoundWhereAComponentExceedsTheTensorThreefold) {
  EXPECT_FALSE(find_cancellation(planted_model({6, 5, 4}, 2.0)));

  const auto found = find_cancellation(planted_model({6.5, 5, 4}, 2.0));

  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, 0);
  EXPECT_EQ(found->second, 2);
  EXPECT_NEAR(found->congruence, -0.48, 1e-15);
  EXPECT_DOUBLE_EQ(found->excess, 3.25);
}

TEST(Cancellation, NeedsTheNormOfTheTensor) {
  CpdModel model = planted_model({600, 5, 400}, 2.0);
  model.tensor_sum_of_squares = 0;

  EXPECT_FALSE(find_cancellation(model));
}

TEST(Cancellation, IsOfLargeComponentsOnlyAndOfAPairThatPointsApart) {
  // Component 2 is smaller than the tensor; the other two are at right angles.
  EXPECT_FALSE(find_cancellation(planted_model({7, 7, 1.9}, 2.0)));
  // With a negative weight the pair points the same way.
  EXPECT_FALSE(find_cancellation(planted_model({7, 7, -7}, 2.0)));
}

TEST(Cancellation, IsNotAPairThatIsAtRightAnglesButForNoise) {
  CpdModel model = planted_model({7, 7, 1.9}, 2.0);
  model.factors[0][1] = -0.01;
  model.factors[1][1] = 0.1;

  EXPECT_FALSE(find_cancellation(model));
}

// There the norm of the model is that of logarithms, or of cells that the tensor does not have.
TEST(Cancellation, IsNotSaidOfModelsOfAnotherScale) {
  CpdModel model = planted_model({6.5, 5, 4}, 2.0);
  model.method = "gcp";
  ASSERT_TRUE(find_cancellation(model));

  for (const LossKind kind : {LossKind::bernoulli_logit, LossKind::poisson_log, LossKind::bernoulli_odds}) {
    model.loss = {kind, 0};
    EXPECT_FALSE(find_cancellation(model)) << to_string(model.loss);
  }
  model.loss = {};
  model.method = "complete";
  EXPECT_FALSE(find_cancellation(model));
}

TEST(Cancellation, CountsTheLengthsOfColumnsThatAreNotNormal) {
  CpdModel model = planted_model({1, 1, 1}, 2.0);
  for (double& number : model.factors[0]) number *= 10;

  const auto found = find_cancellation(model);

  ASSERT_TRUE(found);
  EXPECT_NEAR(found->excess, 5, 1e-14);
  EXPECT_NEAR(found->congruence, -0.48, 1e-15);
}

TEST(Cancellation, LooksAtTheLargestOfManyComponents) {
  // Component r of 200 is a multiple of the first unit column, its sign that of (-1)^r in the first mode.
  CpdModel model;
  model.shape = {1, 2};
  model.rank = 200;
  model.factors = {std::vector<double>(200), std::vector<double>(400)};
  for (std::size_t r = 0; r < 200; ++r) {
    model.weights.push_back(1000.0 - static_cast<double>(r));
    model.factors[0][r] = r == 63 ? -1 : 1;
    model.factors[1][r] = 1;
  }
  model.tensor_sum_of_squares = 1;

  const auto found = find_cancellation(model);

  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, 0);
  EXPECT_EQ(found->second, 63);
  EXPECT_EQ(found->congruence, -1);
  model.factors[0][63] = 1;
  model.factors[0][64] = -1;
  EXPECT_FALSE(find_cancellation(model));
}

// a o a o b + a o b o a + b o a o a has rank 3, but models of rank 2 come as near as one likes (Kolda & Bader 2009,
// section 3.3): their two components grow and turn against each other.
TEST(Cancellation, IsFoundInAFitOfATensorThatHasNoBestModel) {
  const CoordinateTensor coordinates{{2, 2, 2}, {{0, 0, 1}, {0, 1, 0}, {1, 0, 0}}, {1, 1, 1}};
  const MemoryTensor tensor(CoordinateColumns<>(coordinates).arrays());
  CpdOptions options{.rank = 2, .max_sweeps = 3000, .tolerance = 0, .compute = {.devices = {"cpu"}, .threads = 1}};

  const CpdModel model = fit_cpd(tensor, options);
  const auto found = find_cancellation(model);

  ASSERT_TRUE(found);
  EXPECT_GT(found->excess, 3);
  EXPECT_NEAR(found->excess, model.weights[0] / std::sqrt(3.0), 1e-12 * found->excess);
  EXPECT_LT(found->congruence, -0.9);
  options.rank = 1;
  EXPECT_FALSE(find_cancellation(fit_cpd(tensor, options)));
  options.rank = 3;
  EXPECT_FALSE(find_cancellation(fit_cpd(tensor, options)));
}

}  // namespace
}  // namespace blco
