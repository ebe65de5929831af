// A loss and its gradients against loops over every entry, zeros included.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/evaluate.hpp>
#include <blco/ingest.hpp>
#include <string>

#include "blco/error.hpp"
#include "tests/engine/dense_loss.hpp"
#include "tests/engine/matrix_views.hpp"
#include "tests/engine/within_budget.hpp"
#include "tests/every_loss.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

// Gradients of gaussian and poisson in closed form, from the definition; all of one mode.
std::vector<double> dense_gradient(const CoordinateTensor& tensor, const Matrices& factors, std::size_t rank,
                                   const Loss& loss, std::size_t mode) {
  std::vector<double> gradient(factors[mode].size());
  for_each_dense_entry(tensor, [&](const Point& at, double x) {
    const double m = dense_model(factors, rank, at);
    const double derivative = loss.kind == LossKind::gaussian ? 2 * (m - x) : 1 - x / (m + 1e-10);
    for (std::size_t r = 0; r < rank; ++r) {
      double product = derivative;
      for (std::size_t n = 0; n < at.size(); ++n) product *= n == mode ? 1 : factors[n][at[n] * rank + r];
      gradient[at[mode] * rank + r] += product;
    }
  });
  return gradient;
}

void expect_near_relative(const std::vector<double>& actual, const std::vector<double>& expected, double tolerance) {
  double largest = 0;
  for (const double number : expected) largest = std::max(largest, std::abs(number));
  EXPECT_THAT(actual, testing::Pointwise(testing::DoubleNear(tolerance * largest), expected));
}

class Evaluate : public testing::Test {
 protected:
  TensorFile ingest(const CoordinateTensor& tensor, IngestOptions options = {}) {
    options.chunk_nnz = 300;
    options.shape = tensor.shape;
    ingest_files({folder_.write("in.tns", as_text(tensor))}, folder_ / "in.blco", options);
    return TensorFile(folder_ / "in.blco");
  }

  TemporaryFolder folder_;
  static constexpr int rank_ = 5;
  const std::vector<std::uint64_t> shape_{17, 9, 23};
  const CoordinateTensor counts_ = random_coordinates({.shape = shape_, .nnz = 900, .seed = 3, .counts = true});
};

TEST_F(Evaluate, GaussianAndPoissonOverAllEntriesAreThoseOfADenseLoop) {
  for (const std::vector<std::uint64_t>& shape : {shape_, {11}, {12, 40}, {5, 4, 6, 7, 3}}) {
    const CoordinateTensor counts = random_coordinates({.shape = shape, .nnz = 500, .seed = 8, .counts = true});
    const TensorFile tensor = ingest(counts);
    const Matrices factors = uniform_factors(shape, rank_, 4);
    for (const LossKind kind : {LossKind::gaussian, LossKind::poisson}) {
      const LossValue actual = evaluate(tensor, matrix_views(factors, rank_), {kind, 0});

      const double expected = dense_loss(counts, factors, rank_, {kind, 0}, true);
      EXPECT_NEAR(actual.value, expected, 1e-12 * std::abs(expected)) << to_string(Loss{kind, 0});
      EXPECT_EQ(actual.passes, 1);
      for (std::size_t n = 0; n < shape.size(); ++n) {
        expect_near_relative(actual.gradients[n], dense_gradient(counts, factors, rank_, {kind, 0}, n), 1e-12);
      }
    }
  }
}

TEST_F(Evaluate, EveryLossOverTheGivenEntriesHasTheDerivativesOfItsValue) {
  CoordinateTensor ones = counts_;
  for (double& value : ones.values) value = 1;
  const TensorFile tensor = ingest(ones, {.duplicates = DuplicatePolicy::first});
  std::map<Point, double> given;
  for (const auto& [at, x] : summed(ones)) given[at] = 1;
  CoordinateTensor coalesced{shape_, {}, {}};
  for (const auto& [at, x] : given) {
    coalesced.points.push_back(at);
    coalesced.values.push_back(x);
  }
  for (const Loss& loss : losses_by_name(0.7)) {
    SCOPED_TRACE(to_string(loss));
    Matrices factors = uniform_factors(shape_, rank_, 5, 0.3, 0.9);

    const LossValue actual = evaluate(tensor, matrix_views(factors, rank_), loss, AbsentCells::unknown);

    const double expected = dense_loss(coalesced, factors, rank_, loss, false);
    EXPECT_NEAR(actual.value, expected, 1e-11 * std::abs(expected));
    for (const auto& [mode, entry] : std::vector<std::pair<std::size_t, std::size_t>>{{0, 0}, {1, 44}, {2, 60}}) {
      constexpr double step = 1e-5;
      double& number = factors[mode][entry];
      const double middle = number;
      number = middle + step;
      const double above = dense_loss(coalesced, factors, rank_, loss, false);
      number = middle - step;
      const double below = dense_loss(coalesced, factors, rank_, loss, false);
      number = middle;
      const double slope = (above - below) / (2 * step);
      EXPECT_NEAR(actual.gradients[mode][entry], slope, 1e-6 * std::max(1.0, std::abs(slope))) << mode << ' ' << entry;
    }
  }
}

TEST_F(Evaluate, UsesTheIndicesOfTheInputAlsoOfAReorderedTensor) {
  const Matrices factors = uniform_factors(shape_, rank_, 6);
  const LossValue expected = evaluate(ingest(counts_), matrix_views(factors, rank_), {LossKind::poisson, 0});

  const LossValue actual =
      evaluate(ingest(counts_, {.reorder = Reorder::frequency}), matrix_views(factors, rank_), {LossKind::poisson, 0});

  EXPECT_NEAR(actual.value, expected.value, 1e-12 * std::abs(expected.value));
  for (std::size_t n = 0; n < shape_.size(); ++n) {
    expect_near_relative(actual.gradients[n], expected.gradients[n], 1e-12);
  }
}

TEST_F(Evaluate, IsTheSameToTheBitUnderAnyBudgetOnOneThread) {
  const TensorFile tensor = ingest(counts_);
  const Matrices factors = uniform_factors(shape_, rank_, 7);
  const CpdOptions one_thread{.compute = {.devices = {"cpu"}, .threads = 1}};
  const LossValue expected = evaluate(tensor, matrix_views(factors, rank_), {}, AbsentCells::zeros, one_thread.compute);
  std::uint64_t minimum = 0;
  try {
    evaluate(tensor, matrix_views(factors, rank_), {}, AbsentCells::zeros,
             within({.host_bytes = 1000}, one_thread).compute);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::out_of_memory);
    minimum = 1;
  }
  EXPECT_EQ(minimum, 1);

  const LossValue actual = evaluate(tensor, matrix_views(factors, rank_), {}, AbsentCells::zeros,
                                    within({.host_bytes = std::uint64_t{64} << 20}, one_thread).compute);

  EXPECT_EQ(actual.value, expected.value);
  EXPECT_EQ(actual.gradients, expected.gradients);
}

TEST_F(Evaluate, RefusesWhatItCannotSum) {
  const TensorFile tensor = ingest(counts_);
  Matrices factors = uniform_factors(shape_, rank_, 7);
  const auto message_of = [&](const Loss& loss) -> std::string {
    try {
      evaluate(tensor, matrix_views(factors, rank_), loss);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      return error.what();
    }
    return {};
  };

  EXPECT_EQ(message_of({LossKind::huber, 0.5}),
            "loss huber:0.5 has no closed form of its sum over all zeros, as gaussian and poisson have; evaluate it "
            "with `absent = unknown`, over the entries alone");
  EXPECT_EQ(message_of({LossKind::beta, 1}),
            "the parameter of `loss = beta:1` is out of range: D is above 0, B is neither 0 nor 1");
  factors[1].resize(8 * rank_);
  EXPECT_EQ(message_of({}), "factor 1 is a matrix of 8 x 5, but mode and rank ask for 9 x 5");
  std::vector<MatrixView> views = matrix_views(uniform_factors(shape_, rank_, 7), rank_);
  views[0] = {nullptr, static_cast<std::size_t>(shape_[0]), 0};
  EXPECT_THROW(evaluate(tensor, views, {}), Error);
  factors.pop_back();
  EXPECT_EQ(message_of({}), "there are 2 factors; give one per mode, 3 in all");
}

}  // namespace
}  // namespace blco
