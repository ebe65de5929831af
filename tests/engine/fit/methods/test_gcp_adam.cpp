// Generalised CP by Adam: it finds what was planted, and its fits depend on nothing that they should not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/cpd.hpp>
#include <blco/ingest.hpp>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>

#include "blco/error.hpp"
#include "tests/engine/dense_loss.hpp"
#include "tests/engine/within_budget.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

class GcpAdam : public testing::Test {
 protected:
  TensorFile ingest(const CoordinateTensor& tensor, std::uint64_t chunk_nnz = 400) {
    ingest_files({folder_.write("in.tns", as_text(tensor))}, folder_ / "in.blco",
                 {.shape = tensor.shape, .chunk_nnz = chunk_nnz});
    return TensorFile(folder_ / "in.blco");
  }

  static CpdOptions options(const Loss& loss, int sweeps) {
    CpdOptions chosen{
        .rank = 3, .max_sweeps = sweeps, .tolerance = 0, .seed = 5, .compute = {.devices = {"cpu"}, .threads = 1}};
    chosen.method = GcpAdamMethod{.loss = loss, .learning_rate = 0.01};
    return chosen;
  }

  // Component r has its own third of each mode, where an entry is 1 with probability 0.6.
  static Matrices blocks() {
    Matrices factors;
    for (const std::uint64_t length : {30u, 24u, 27u}) {
      factors.emplace_back(length * 3);
      for (std::uint64_t i = 0; i < length; ++i) factors.back()[i * 3 + i * 3 / length] = std::cbrt(0.6);
    }
    return factors;
  }
  // The same plus a component for the background, where an entry is 1 with probability 0.01.
  static CoordinateTensor planted() {
    Matrices factors = blocks();
    Matrices with_background;
    for (const std::vector<double>& factor : factors) {
      with_background.emplace_back();
      for (std::size_t i = 0; i < factor.size(); ++i) {
        with_background.back().push_back(factor[i]);
        if (i % 3 == 2) with_background.back().push_back(std::cbrt(0.01));
      }
    }
    return planted_entries(with_background, 4, 17, false);
  }

  // The objective of the best constant model: the entropy of the share of ones.
  static double of_constant(const CoordinateTensor& ones) {
    double cells = 1;
    for (const std::uint64_t length : ones.shape) cells *= static_cast<double>(length);
    const double share = static_cast<double>(ones.points.size()) / cells;
    return -cells * (share * std::log(share) + (1 - share) * std::log(1 - share));
  }

  static double dense(const CoordinateTensor& tensor, const CpdModel& model) {
    Matrices factors = model.factors;
    for (std::size_t i = 0; i < factors[0].size(); ++i) factors[0][i] *= model.weights[i % model.weights.size()];
    return dense_loss(tensor, factors, model.weights.size(), model.loss, true);
  }

  TemporaryFolder folder_;
  static constexpr Loss odds_{LossKind::bernoulli_odds, 0};
};

// The product over the modes of the cosines between two components.
double congruence(const Matrices& a, std::size_t r, const Matrices& b, std::size_t s) {
  double product = 1;
  for (std::size_t n = 0; n < a.size(); ++n) {
    double inner = 0;
    double of_a = 0;
    double of_b = 0;
    for (std::size_t i = 0; i < a[n].size(); i += 3) {
      inner += a[n][i + r] * b[n][i + s];
      of_a += a[n][i + r] * a[n][i + r];
      of_b += b[n][i + s] * b[n][i + s];
    }
    product *= inner / std::sqrt(of_a * of_b);
  }
  return product;
}

TEST_F(GcpAdam, FindsPlantedBlocksOfABinaryTensor) {
  const CoordinateTensor entries = planted();
  const TensorFile tensor = ingest(entries);

  // Some starts end in a local minimum.
  CpdModel model;
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    CpdOptions wanted = options(odds_, 20);
    wanted.seed = seed;
    CpdModel found = fit_cpd(tensor, wanted);
    if (model.rank == 0 || found.objective() < model.objective()) model = std::move(found);
  }

  EXPECT_TRUE(std::ranges::is_sorted(model.objective_history, std::greater<>()));
  const Matrices truth = blocks();
  for (std::size_t r = 0; r < 3; ++r) {
    double best = 0;
    for (std::size_t s = 0; s < 3; ++s) best = std::max(best, congruence(truth, r, model.factors, s));
    EXPECT_GT(best, 0.9) << r;
  }
  for (const std::vector<double>& factor : model.factors) EXPECT_THAT(factor, testing::Each(testing::Ge(0)));
  // The estimate is that of all entries but for its sample of zeros.
  EXPECT_NEAR(model.objective(), dense(entries, model), 0.05 * dense(entries, model));
}

TEST_F(GcpAdam, LowersEveryLoss) {
  const CoordinateTensor entries = planted();
  const TensorFile tensor = ingest(entries);
  for (const Loss& loss : {Loss{LossKind::poisson_log, 0}, Loss{LossKind::bernoulli_odds, 0},
                           Loss{LossKind::bernoulli_logit, 0}, Loss{LossKind::gamma, 0}, Loss{LossKind::rayleigh, 0},
                           Loss{LossKind::huber, 0.25}, Loss{LossKind::beta, 1.5}}) {
    const CpdModel one = fit_cpd(tensor, options(loss, 1));

    const CpdModel more = fit_cpd(tensor, options(loss, 6));

    EXPECT_LT(more.objective(), one.objective()) << to_string(loss);
    EXPECT_EQ(more.objective_history[0], one.objective()) << to_string(loss);
  }
}

TEST_F(GcpAdam, OnOneThreadTheBudgetChangesNoBit) {
  const TensorFile tensor = ingest(planted());
  const CpdOptions wanted = options(odds_, 2);
  const MemoryBudget least{.host_bytes = plan_cpd(tensor, wanted).minimum_bytes};
  ASSERT_GT(plan_cpd(tensor, within(least, wanted)).streamed_chunks, 0);

  const CpdModel in_core = fit_cpd(tensor, wanted);
  const CpdModel streamed = fit_cpd(tensor, within(least, wanted));

  EXPECT_EQ(streamed.objective_history, in_core.objective_history);
  EXPECT_EQ(streamed.factors, in_core.factors);
}

TEST_F(GcpAdam, ADeterministicFitIsTheSameToTheBitOnAnyThreads) {
  const TensorFile tensor = ingest(planted());
  CpdOptions wanted = options(odds_, 1);
  wanted.compute.deterministic = true;
  const CpdModel expected = fit_cpd(tensor, wanted);
  wanted.compute.threads = 3;

  EXPECT_EQ(fit_cpd(tensor, wanted).factors, expected.factors);
}

TEST_F(GcpAdam, StopsWithinAnEpoch) {
  CpdOptions wanted = options(odds_, 100'000);
  std::get<GcpAdamMethod>(wanted.method).learning_rate = 1e-5;
  wanted.on_progress = [](const Progress& progress) { return progress.sweep < 2; };
  wanted.on_sweep = [](const SweepReport& report) {
    EXPECT_EQ(report.cut_short, report.sweep == 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(110));  // so that the next report is due at once
    return true;
  };

  const CpdModel model = fit_cpd(ingest(planted()), wanted);

  EXPECT_EQ(model.stop_reason, StopReason::cancelled);
  EXPECT_EQ(model.sweeps(), 2U);
  EXPECT_TRUE(std::isfinite(model.objective()));
}

TEST_F(GcpAdam, ResumedFromACheckpointItIsTheFitThatNeverStopped) {
  const TensorFile tensor = ingest(planted());
  CpdOptions first = options(odds_, 2);
  // So large that some sweeps fail.
  std::get<GcpAdamMethod>(first.method).learning_rate = 0.5;
  first.checkpoint = folder_ / "checkpoint.h5";
  fit_cpd(tensor, first);
  CpdOptions second = first;
  second.max_sweeps = 5;
  second.checkpoint.clear();
  CpdOptions unbroken = second;
  second.resume = first.checkpoint;

  const CpdModel resumed = fit_cpd(tensor, second);

  const CpdModel expected = fit_cpd(tensor, unbroken);
  EXPECT_EQ(resumed.objective_history, expected.objective_history);
  EXPECT_EQ(resumed.factors, expected.factors);
  EXPECT_EQ(resumed.weights, expected.weights);
}

TEST_F(GcpAdam, ALearningRateThatIsFarTooLargeFindsItself) {
  const TensorFile tensor = ingest(planted());
  CpdOptions wanted = options({LossKind::poisson_log, 0}, 3);
  std::get<GcpAdamMethod>(wanted.method).learning_rate = 1e6;
  wanted.tolerance = 1e-5;

  const CpdModel few = fit_cpd(tensor, wanted);
  wanted.max_sweeps = 20;
  const CpdModel more = fit_cpd(tensor, wanted);

  // No step of the first sweeps is of use, so they leave no trace; but that is not convergence.
  EXPECT_EQ(few.stop_reason, StopReason::sweeps);
  EXPECT_THAT(few.objective_history, testing::Each(few.objective_history[0]));
  EXPECT_LT(*few.explained, 0.01);
  EXPECT_NEAR(few.objective(), dense(planted(), few), 0.05 * dense(planted(), few));
  EXPECT_GT(*more.explained, 0.2);
}

TEST_F(GcpAdam, EndsAfterThreeSweepsThatGainNextToNothing) {
  CpdOptions wanted = options(odds_, 50);
  wanted.tolerance = 0.02;

  const CpdModel model = fit_cpd(ingest(planted()), wanted);

  EXPECT_EQ(model.stop_reason, StopReason::tolerance);
  const double deviance = of_constant(planted());
  const std::vector<double>& history = model.objective_history;
  ASSERT_GT(history.size(), 3);
  EXPECT_LT(history[history.size() - 4] - history.back(), 3 * *wanted.tolerance * deviance);
  EXPECT_NEAR(*model.explained, 1 - model.objective() / deviance, 1e-9);
}

// A hundred ones among 10^12 cells: each component has four of its own indices in each mode, and all of their cells.
CoordinateTensor two_blocks() {
  CoordinateTensor sparse{.shape = {10'000, 10'000, 10'000}, .points = {}, .values = {}};
  for (std::uint64_t block = 0; block < 2; ++block) {
    for (std::uint64_t at = 0; at < 64; ++at) {
      const std::uint64_t first = 2000 + 5000 * block;
      sparse.points.push_back({first + at % 4, first + at / 4 % 4, first + at / 16});
      sparse.values.push_back(1);
    }
  }
  return sparse;
}

TEST_F(GcpAdam, HuberBeatsTheBestConstantModelOfAVerySparseTensor) {
  CpdOptions wanted = options({LossKind::huber, 0.5}, 10);
  wanted.method = GcpMethod{.loss = {LossKind::huber, 0.5}};

  const CpdModel model = fit_cpd(ingest(two_blocks()), wanted);

  EXPECT_GT(*model.explained, 0.3);
}

// Scattered ones hide from the samples where the model expects much: they must not make up for losses of the entries.
TEST_F(GcpAdam, TheObjectiveOfAVerySparseTensorIsNoLessThanThatOfItsEntries) {
  CoordinateTensor sparse = two_blocks();
  std::mt19937_64 random(3);
  for (int i = 0; i < 3000; ++i) sparse.points.push_back({random() % 10'000, random() % 10'000, random() % 10'000});
  sparse.values.assign(sparse.points.size(), 1.0);
  CpdOptions wanted = options({LossKind::huber, 0.5}, 10);
  wanted.method = GcpMethod{.loss = {LossKind::huber, 0.5}};

  const CpdModel model = fit_cpd(ingest(sparse), wanted);

  Matrices factors = model.factors;
  for (std::size_t i = 0; i < factors[0].size(); ++i) factors[0][i] *= model.weights[i % 3];
  EXPECT_GE(model.objective(), dense_loss(sparse, factors, 3, model.loss, false) * (1 - 1e-9));
  EXPECT_GT(*model.explained, 0.03);  // there are 0.04 to explain by two blocks
}

TEST_F(GcpAdam, TellsListedFromOtherCellsOfAVerySparseTensor) {
  const CoordinateTensor sparse = two_blocks();
  const TensorFile tensor = ingest(sparse);
  for (const LossKind kind : {LossKind::bernoulli_logit, LossKind::poisson_log}) {
    CpdOptions wanted = options({kind}, 20);
    wanted.method = GcpMethod{.loss = {kind}};

    const CpdModel model = fit_cpd(tensor, wanted);

    Matrices factors = model.factors;
    for (std::size_t i = 0; i < factors[0].size(); ++i) factors[0][i] *= model.weights[i % 3];
    const double other = dense_model(factors, 3, {17, 4321, 9000});
    EXPECT_GT(*model.explained, 0.3) << to_string(model.loss);
    for (const Point& listed : sparse.points) EXPECT_GT(dense_model(factors, 3, listed), other + 2);
  }
}

TEST_F(GcpAdam, SeveralThreadsAndPrecisionsFindAsGoodAModel) {
  const CoordinateTensor entries = planted();
  const TensorFile tensor = ingest(entries);
  const double expected = dense(entries, fit_cpd(tensor, options(odds_, 12)));
  for (const Precision precision : {Precision::f64, Precision::f32, Precision::mixed}) {
    CpdOptions wanted = options(odds_, 12);
    wanted.compute.precision = precision;
    wanted.compute.threads = 3;

    EXPECT_NEAR(dense(entries, fit_cpd(tensor, wanted)), expected, 0.05 * expected) << to_string(precision);
  }
}

TEST_F(GcpAdam, RefusesValuesAndRatesThatDoNotSuit) {
  CoordinateTensor entries = planted();
  CpdOptions wanted = options(odds_, 1);
  std::get<GcpAdamMethod>(wanted.method).learning_rate = 0;
  const auto refusal = [&](const TensorFile& tensor) -> std::string {
    try {
      fit_cpd(tensor, wanted);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(refusal(ingest(entries)), "`learning_rate` must be above 0");
  wanted = options(odds_, 1);
  entries.values[3] = 2;

  EXPECT_THAT(refusal(ingest(entries)), testing::HasSubstr("is 2, but loss bernoulli-odds takes 0 and 1"));
}

}  // namespace
}  // namespace blco
