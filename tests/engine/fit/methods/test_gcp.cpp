// Generalised CP by L-BFGS: its objective is that of a dense loop, and its fits depend on nothing that they should not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/cpd.hpp>
#include <blco/ingest.hpp>
#include <chrono>
#include <cmath>
#include <random>
#include <string>
#include <thread>

#include "blco/error.hpp"
#include "engine/fit/cp_fit.hpp"
#include "engine/fit/methods/initial_scale.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "tests/engine/dense_loss.hpp"
#include "tests/engine/within_budget.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

// The factors with the weights in the first one.
Matrices weighted(const CpdModel& model) {
  Matrices factors = model.factors;
  for (std::size_t i = 0; i < factors[0].size(); ++i) factors[0][i] *= model.weights[i % model.weights.size()];
  return factors;
}

class Gcp : public testing::TestWithParam<LossKind> {
 protected:
  TensorFile ingest(const CoordinateTensor& tensor, IngestOptions options = {}) {
    options.chunk_nnz = 500;
    options.shape = tensor.shape;
    ingest_files({folder_.write("in.tns", as_text(tensor))}, folder_ / "in.blco", options);
    return TensorFile(folder_ / "in.blco");
  }

  static CpdOptions options(const Loss& loss, int sweeps) {
    CpdOptions chosen{
        .rank = 3, .max_sweeps = sweeps, .tolerance = 0, .seed = 5, .compute = {.devices = {"cpu"}, .threads = 1}};
    chosen.method = GcpMethod{.loss = loss, .evaluations = 20};
    return chosen;
  }
  CpdOptions options(int sweeps) const { return options({GetParam(), 0}, sweeps); }

  std::string refusal(const TensorFile& tensor, const CpdOptions& wanted) {
    try {
      fit_cpd(tensor, wanted);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "accepted";
    return {};
  }

  TemporaryFolder folder_;
  const Matrices truth_ = uniform_factors({30, 20, 25}, 3, 2, 0.0, 0.8);
  const CoordinateTensor counts_ = planted_entries(truth_, 3, 9, true);
};

INSTANTIATE_TEST_SUITE_P(Gcp, Gcp, testing::Values(LossKind::gaussian, LossKind::poisson), [](const auto& which) {
  return to_string(Loss{which.param, 0});
});

TEST_P(Gcp, ItsObjectiveIsThatOfADenseLoopAndFalls) {
  const TensorFile tensor = ingest(counts_);
  CpdOptions wanted = options(6);
  std::vector<std::uint64_t> passes;
  wanted.on_sweep = [&](const SweepReport& report) {
    passes.push_back(report.passes);
    return true;
  };

  const CpdModel model = fit_cpd(tensor, wanted);

  const double expected = dense_loss(counts_, weighted(model), 3, model.loss, true, unit_of_values(counts_));
  EXPECT_NEAR(model.objective(), expected, 1e-11 * std::abs(expected));
  EXPECT_TRUE(std::ranges::is_sorted(model.objective_history, std::greater<>()));
  EXPECT_EQ(model.objective_history.size(), 6);
  EXPECT_THAT(passes, testing::Each(testing::Le(20)));
  EXPECT_EQ(model.method, "gcp");
  EXPECT_EQ(model.loss, (Loss{GetParam(), 0}));
}

TEST_P(Gcp, FitsBetterThanTheModelThatTheDataCameFrom) {
  const TensorFile tensor = ingest(counts_);
  CpdOptions wanted = options(50);
  wanted.tolerance = 1e-7;

  const CpdModel model = fit_cpd(tensor, wanted);

  EXPECT_EQ(model.stop_reason, StopReason::tolerance);
  EXPECT_LT(model.objective(), dense_loss(counts_, truth_, 3, model.loss, true));
  if (GetParam() == LossKind::poisson) {
    for (const std::vector<double>& factor : model.factors) EXPECT_THAT(factor, testing::Each(testing::Ge(0)));
    // At the minimum over all scales the model's entries add up to the tensor's.
    double sum = 0;
    for_each_dense_entry(counts_, [&](const Point& at, double) { sum += dense_model(weighted(model), 3, at); });
    EXPECT_NEAR(sum, std::accumulate(counts_.values.begin(), counts_.values.end(), 0.0), 1e-3 * sum);
  }
}

TEST_P(Gcp, OnOneThreadTheBudgetChangesNoBit) {
  const TensorFile tensor = ingest(counts_);
  const CpdOptions wanted = options(3);
  const CpdPlan whole = plan_cpd(tensor, wanted);
  ASSERT_EQ(whole.streamed_chunks, 0);
  const MemoryBudget least{.host_bytes = whole.minimum_bytes};
  ASSERT_GT(plan_cpd(tensor, within(least, wanted)).streamed_chunks, 0);

  const CpdModel in_core = fit_cpd(tensor, wanted);
  const CpdModel streamed = fit_cpd(tensor, within(least, wanted));

  EXPECT_EQ(streamed.objective_history, in_core.objective_history);
  EXPECT_EQ(streamed.factors, in_core.factors);
  EXPECT_EQ(streamed.weights, in_core.weights);
}

TEST_P(Gcp, ADeterministicFitIsTheSameToTheBitOnAnyThreads) {
  const TensorFile tensor = ingest(counts_);
  CpdOptions wanted = options(2);
  wanted.compute.deterministic = true;
  const CpdModel expected = fit_cpd(tensor, wanted);
  for (const int threads : {2, 5}) {
    wanted.compute.threads = threads;

    const CpdModel actual = fit_cpd(tensor, wanted);

    EXPECT_EQ(actual.objective_history, expected.objective_history);
    EXPECT_EQ(actual.factors, expected.factors);
  }
}

TEST_P(Gcp, ResumedFromACheckpointItIsTheFitThatNeverStopped) {
  const TensorFile tensor = ingest(counts_);
  for (const Precision precision : {Precision::f64, Precision::f32, Precision::mixed}) {
    SCOPED_TRACE(to_string(precision));
    CpdOptions first = options(3);
    first.compute.precision = precision;
    first.checkpoint = folder_ / "checkpoint.h5";
    fit_cpd(tensor, first);
    CpdOptions second = options(7);
    second.compute.precision = precision;
    second.resume = first.checkpoint;
    CpdOptions unbroken = options(7);
    unbroken.compute.precision = precision;

    const CpdModel resumed = fit_cpd(tensor, second);

    const CpdModel expected = fit_cpd(tensor, unbroken);
    EXPECT_EQ(resumed.objective_history, expected.objective_history);
    EXPECT_EQ(resumed.factors, expected.factors);
    EXPECT_EQ(resumed.weights, expected.weights);
  }
}

TEST_P(Gcp, EveryPrecisionAndSeveralThreadsReachTheSameObjective) {
  const TensorFile tensor = ingest(counts_);
  const double expected = fit_cpd(tensor, options(10)).objective();
  for (const Precision precision : {Precision::f64, Precision::f32, Precision::mixed}) {
    CpdOptions wanted = options(10);
    wanted.compute.precision = precision;
    wanted.compute.threads = 3;

    EXPECT_NEAR(fit_cpd(tensor, wanted).objective(), expected, 1e-4 * std::abs(expected)) << to_string(precision);
  }
}

TEST_P(Gcp, AReorderedTensorGivesTheSameModel) {
  const CpdModel expected = fit_cpd(ingest(counts_), options(2));

  const CpdModel actual = fit_cpd(ingest(counts_, {.reorder = Reorder::frequency}), options(2));

  for (std::size_t n = 0; n < 3; ++n) {
    EXPECT_THAT(actual.factors[n], testing::Pointwise(testing::DoubleNear(1e-6), expected.factors[n]));
  }
}

TEST_F(Gcp, PoissonLowersTheObjectiveOfAprsModelFurther) {
  const TensorFile tensor = ingest(counts_);
  CpdOptions wanted = options({LossKind::poisson}, 10);
  wanted.method = AprMethod{};
  const CpdModel apr = fit_cpd(tensor, wanted);
  wanted = options({LossKind::poisson}, 10);
  const CpdModel beside = fit_cpd(tensor, wanted);
  wanted.initial = &apr;

  const CpdModel further = fit_cpd(tensor, wanted);

  EXPECT_LT(further.objective(), apr.objective());
  EXPECT_LT(beside.objective(), apr.objective() + 0.01 * std::abs(apr.objective()));
}

TEST_P(Gcp, StartsFromAModelWithItsWeights) {
  const TensorFile tensor = ingest(counts_);
  CpdModel initial = fit_cpd(tensor, options(1));
  if (GetParam() == LossKind::gaussian) {
    initial.weights[1] *= -1;
    for (std::size_t i = 1; i < initial.factors[2].size(); i += 3) initial.factors[2][i] *= -1;
  }
  const double before = dense_loss(counts_, weighted(initial), 3, initial.loss, true);
  CpdOptions wanted = options(1);
  wanted.initial = &initial;
  double first = 0;
  std::get<GcpMethod>(wanted.method).evaluations = 2;

  const CpdModel model = fit_cpd(tensor, wanted);

  // The first step is a small one along the gradient.
  first = model.objective();
  EXPECT_LE(first, before * (1 + 1e-12));
  EXPECT_NEAR(first, before, 0.1 * std::abs(before));
}

// All losses of numbers, also those whose zeros have no closed form: this tensor has few enough.
TEST_F(Gcp, NonnegativeModesStaySoAndTheOthersDoNot) {
  CoordinateTensor entries = counts_;
  for (std::size_t i = 0; i < entries.values.size(); i += 3) entries.values[i] *= -1;
  const TensorFile tensor = ingest(entries);
  const RowConstraint kept{.set = RowSet::nonnegative};
  const Loss huber{LossKind::huber, 0.7};
  const std::vector<RowConstraint> constraints = {kept, {}, kept};
  for (const auto& [method, loss] :
       {std::pair{CpdMethod(GcpMethod{.constraints = constraints}), Loss()},
        std::pair{CpdMethod(GcpMethod{.loss = huber, .constraints = constraints}), huber},
        std::pair{CpdMethod(GcpAdamMethod{.loss = huber, .learning_rate = 0.01, .constraints = constraints}), huber}}) {
    CpdOptions wanted = options(loss, 10);
    const CpdModel free = fit_cpd(tensor, wanted);
    wanted.initial = &free;
    wanted.method = method;

    const CpdModel model = fit_cpd(tensor, wanted);

    EXPECT_THAT(model.factors[0], testing::Each(testing::Ge(0)));
    EXPECT_THAT(model.factors[1], testing::Contains(testing::Lt(0)));
    EXPECT_THAT(model.factors[2], testing::Each(testing::Ge(0)));
    EXPECT_GT(*model.explained, 0.01) << name_of(method) << to_string(loss);
  }
}

TEST_P(Gcp, RandomFactorsStartWithTheSizeOfTheData) {
  const TensorFile tensor = ingest(counts_);
  const CpdOptions wanted = options(1);
  Job job(tensor, wanted.compute, fit_needs(tensor, wanted));
  OriginalRows rows(TensorChunks::of(tensor), job.backend(), 3, false);
  for (int n = 0; n < 3; ++n) rows.load(n, 0, truth_[static_cast<std::size_t>(n)]);
  const std::unique_ptr<WorkerGroup> workers = job.make_workers();

  const double mean = std::accumulate(counts_.values.begin(), counts_.values.end(), 0.0) / (30 * 20 * 25);
  scale_initial_factors({tensor, wanted, *workers, {}, {.value = mean}}, {GetParam(), 0}, {});

  Matrices scaled = truth_;
  for (int n = 0; n < 3; ++n) rows.store(n, 0, scaled[static_cast<std::size_t>(n)]);
  double of_model = 0;
  double of_data = 0;
  for_each_dense_entry(counts_, [&](const Point& at, double x) {
    const double m = dense_model(scaled, 3, at);
    of_model += GetParam() == LossKind::poisson ? m : m * m;
    of_data += GetParam() == LossKind::poisson ? x : x * x;
  });
  EXPECT_NEAR(of_model, of_data, 1e-10 * of_data);
}

TEST_P(Gcp, SaysWhatShareOfTheConstantModelsDevianceItExplains) {
  const CpdModel model = fit_cpd(ingest(counts_), options(2));

  double sum = 0;
  double cells = 0;
  for_each_dense_entry(counts_, [&](const Point&, double x) {
    sum += x;
    ++cells;
  });
  double of_constant = 0;
  double least = 0;
  for_each_dense_entry(counts_, [&](const Point&, double x) {
    of_constant += dense_term(model.loss, x, sum / cells);
    if (GetParam() == LossKind::poisson && x > 0) least += x - x * std::log(x);
  });
  EXPECT_NEAR(*model.explained, (of_constant - model.objective()) / (of_constant - least), 1e-8);
}

// 200 counts in 10^18 cells: rates of 10^-16 and less, far below the 10^-10 within the logarithm.
TEST_F(Gcp, PoissonFitsRatesFarBelowTheLogarithmsLeast) {
  CoordinateTensor sparse{.shape = {100'000, 100'000, 100'000}, .points = {}, .values = {}};
  std::mt19937_64 random(3);
  double sum = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const std::uint64_t block = i % 2 * 50'000;
    sparse.points.push_back({block + random() % 20, block + random() % 20, block + random() % 20});
    sparse.values.push_back(static_cast<double>(1 + random() % 3));
    sum += sparse.values.back();
  }
  const TensorFile tensor = ingest(sparse);
  for (const CpdMethod& method : {CpdMethod(GcpMethod{.loss = {LossKind::poisson}}), CpdMethod(AprMethod{})}) {
    CpdOptions wanted = options({}, 10);
    wanted.method = method;
    wanted.rank = 2;

    const CpdModel model = fit_cpd(tensor, wanted);

    // The best model has a component per block; its cells add up to the counts.
    double total = 0;
    for (std::size_t r = 0; r < 2; ++r) {
      double product = model.weights[r];
      for (const std::vector<double>& factor : model.factors) {
        double column = 0;
        for (std::size_t i = r; i < factor.size(); i += 2) column += factor[i];
        product *= column;
      }
      total += product;
    }
    EXPECT_NEAR(total, sum, 1e-3 * sum) << name_of(method);
    EXPECT_GT(*model.explained, 0.6) << name_of(method);
  }
}

TEST_P(Gcp, StopsWithinASweep) {
  const TensorFile tensor = ingest(counts_);
  CpdOptions wanted = options(100'000'000);
  wanted.on_progress = [](const Progress& progress) { return progress.sweep < 2; };
  wanted.on_sweep = [](const SweepReport&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(110));  // so that the next report is due at once
    return true;
  };

  const CpdModel model = fit_cpd(tensor, wanted);

  EXPECT_EQ(model.stop_reason, StopReason::cancelled);
  EXPECT_EQ(model.sweeps(), 2U);
  const double expected = dense_loss(counts_, weighted(model), 3, model.loss, true, unit_of_values(counts_));
  EXPECT_NEAR(model.objective(), expected, 1e-11 * std::abs(expected));
}

TEST(FittedMethod, IsOverAllCellsWhereTheyAreFewOrListedOrTheirSumIsKnown) {
  const RowConstraint kept{.set = RowSet::nonnegative};
  const Loss huber{LossKind::huber, 0.5};
  const auto takes_all = [&](const std::vector<std::uint64_t>& shape, std::uint64_t nnz, const Loss& loss) {
    TensorSummary tensor;
    tensor.shape = shape;
    tensor.nnz = nnz;
    const CpdMethod method = fitted_method(tensor, GcpMethod{.loss = loss, .constraints = {kept}});
    if (const auto* const adam = std::get_if<GcpAdamMethod>(&method)) {
      EXPECT_EQ(adam->loss, loss);
      EXPECT_EQ(adam->constraints, std::vector{kept});
    }
    return std::holds_alternative<GcpMethod>(method);
  };

  EXPECT_TRUE(takes_all({512, 512}, 9, huber));  // 2^18 cells
  EXPECT_FALSE(takes_all({1 << 18 | 1}, 9, huber));
  EXPECT_TRUE(takes_all({1 << 18 | 1}, 1 << 18 | 1, huber));
  EXPECT_TRUE(takes_all({1 << 20, 1 << 20}, 9, {LossKind::poisson}));
  EXPECT_TRUE(std::holds_alternative<AprMethod>(fitted_method({}, AprMethod())));
}

TEST_F(Gcp, RefusesWhatDoesNotGoTogether) {
  const TensorFile tensor = ingest(counts_);
  const Loss poisson{LossKind::poisson, 0};
  CpdOptions wanted = options(poisson, 1);
  wanted.ridge = 1;
  EXPECT_THAT(refusal(tensor, wanted), testing::HasSubstr("`ridge` belongs to"));

  wanted = options(poisson, 1);
  std::get<GcpMethod>(wanted.method).evaluations = 1;
  EXPECT_EQ(refusal(tensor, wanted), "`evaluations` must be at least 2");

  CpdModel initial = fit_cpd(tensor, options(poisson, 1));
  initial.factors[2][5] = -0.1;
  wanted = options(poisson, 1);
  wanted.initial = &initial;
  EXPECT_THAT(refusal(tensor, wanted),
              testing::HasSubstr("negative entries, but loss poisson takes weights and factors of at"));

  CoordinateTensor other = counts_;
  other.values[7] = -2;
  const TensorFile negative = ingest(other);
  EXPECT_THAT(refusal(negative, options(poisson, 1)), testing::HasSubstr("is -2, but loss poisson takes numbers of"));
  EXPECT_NO_THROW(fit_cpd(negative, options({}, 1)));
}

}  // namespace
}  // namespace blco
