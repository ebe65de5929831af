// The fit as a caller sees it: published answers, budgets, options, and errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/cpd.hpp>
#include <blco/ingest.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kernels/device_kind.hpp"
#include "tests/engine/coordinate_tensor.hpp"
#include "tests/engine/fit/dense_model.hpp"
#include "tests/engine/within_budget.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

// The initial factors named "hash" by the reference answers.
CpdModel hash_model(const std::vector<std::uint64_t>& shape, int rank) {
  CpdModel model;
  model.shape = shape;
  model.rank = rank;
  model.weights.assign(static_cast<std::size_t>(rank), 1.0);
  for (std::uint64_t m = 0; m < shape.size(); ++m) {
    std::vector<double> factor;
    for (std::uint64_t i = 0; i < shape[m]; ++i) {
      for (std::uint64_t r = 0; r < static_cast<std::uint64_t>(rank); ++r) {
        const std::uint64_t hash =
            (i * 7919 + (r + 1) * (r + 1) * 104729 + i * i * (r + 3) * 31 + m * 1299709 + 17) % 10007;
        factor.push_back(static_cast<double>(hash + 1) / 10007);
      }
    }
    model.factors.push_back(std::move(factor));
  }
  return model;
}

std::filesystem::path reference_folder() { return std::filesystem::path(BLCO_DATA_DIR) / "reference"; }

nlohmann::json reference_cases() {
  std::ifstream file(reference_folder() / "reference.json");
  return nlohmann::json::parse(file);
}

std::filesystem::path reference_input(const nlohmann::json& test) {
  const std::filesystem::path plain = reference_folder() / test["file"].get<std::string>();
  return std::filesystem::exists(plain) ? plain : std::filesystem::path(plain.string() + ".gz");
}

class Reference : public testing::TestWithParam<int> {  // threads
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(reference_folder())) GTEST_SKIP() << "no reference answers at " << reference_folder();
  }

  TensorFile ingest(const nlohmann::json& test) {
    const std::filesystem::path output = folder_ / (test["tensor"].get<std::string>() + ".blco");
    ingest_files({reference_input(test)}, output,
                 {.index_base = test["index_base"],
                  .skip_lines = test["header_lines"],
                  .shape = test["dims"],
                  .chunk_nnz = 10000});
    return TensorFile(output);
  }

  TemporaryFolder folder_;
};

TEST_P(Reference, FitsOfTenSweepsAreThePublishedOnes) {
  int checked = 0;
  for (const nlohmann::json& test : reference_cases()) {
    if (test["init"] != "hash") continue;
    const TensorFile tensor = ingest(test);
    const CpdModel initial = hash_model(tensor.summary().shape, test["rank"]);

    const CpdModel model = fit_cpd(tensor, {.rank = test["rank"],
                                            .max_sweeps = 10,
                                            .tolerance = 0,
                                            .momentum = false,
                                            .compute = {.threads = GetParam()},
                                            .initial = &initial});

    const std::vector<double> fits = test["fit"];
    ASSERT_EQ(model.fit_history.size(), 10);
    for (std::size_t sweep = 0; sweep < 10; ++sweep) {
      EXPECT_NEAR(model.fit_history[sweep], fits[sweep], 1e-9)
          << test["tensor"] << ", rank " << test["rank"] << ", sweep " << sweep + 1;
    }
    EXPECT_NEAR(std::sqrt(tensor.summary().sum_of_squares), test["norm"].get<double>(),
                1e-12 * test["norm"].get<double>());
    ++checked;
  }
  EXPECT_EQ(checked, 8);
}

TEST_P(Reference, MttkrpsAtTheInitialFactorsAreThePublishedOnes) {
  for (const nlohmann::json& test : reference_cases()) {
    if (test["init"] != "hash") continue;
    const TensorFile tensor = ingest(test);
    const int rank = test["rank"];
    const CpdModel initial = hash_model(tensor.summary().shape, rank);

    for (const nlohmann::json& expected : test["mttkrp"]) {
      const auto output = mttkrp(tensor, initial.matrices(), expected["mode"], {.threads = GetParam()});

      double squares = 0;
      double sum = 0;
      for (const double x : output) {
        squares += x * x;
        sum += x;
      }
      const double norm = expected["fro"];
      EXPECT_NEAR(std::sqrt(squares), norm, 1e-10 * norm);
      EXPECT_NEAR(sum, expected["sum"].get<double>(), 1e-10 * std::abs(expected["sum"].get<double>()));
      const std::vector<double> row = expected["row"];
      const std::size_t first = expected["first_nonzero_row"].get<std::size_t>() * static_cast<std::size_t>(rank);
      for (std::size_t r = 0; r < row.size(); ++r) EXPECT_NEAR(output[first + r], row[r], 1e-10 * std::abs(row[r]));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cpd, Reference, testing::Values(1, 2), [](const auto& test) {
  return std::to_string(test.param) + (test.param == 1 ? "_thread" : "_threads");
});

class Cpd : public testing::Test {
 protected:
  Cpd() {
    const auto tensor = random_coordinates({.shape = {300, 400, 500}, .nnz = 300000, .seed = 4, .counts = true});
    ingest_files({folder_.write("in.tns", as_text(tensor))}, folder_ / "in.blco", {.chunk_nnz = 10000});
    tensor_.emplace(folder_ / "in.blco");
  }

  TemporaryFolder folder_;
  std::optional<TensorFile> tensor_;
};

std::uint64_t minimum_budget(const TensorFile& tensor, CpdOptions options) {
  std::uint64_t minimum = 0;
  options.on_plan = [&](const CpdPlan& plan) { minimum = plan.minimum_bytes; };
  options.max_sweeps = 1;
  fit_cpd(tensor, options);
  return minimum;
}

TEST_F(Cpd, TheModelDoesNotDependOnTheBudgetOnOneThread) {
  for (const int rank : {1, 5, 16, 33}) {
    CpdOptions options{.rank = rank, .max_sweeps = 3, .tolerance = 0, .compute = {.threads = 1}};
    const CpdModel in_core = fit_cpd(*tensor_, options);
    const std::uint64_t minimum = minimum_budget(*tensor_, options);

    for (const std::uint64_t extra : {0u, 500'000u, 1'500'000u}) {
      std::uint64_t streamed = 0;
      options.on_plan = [&](const CpdPlan& plan) { streamed = plan.streamed_chunks; };
      const CpdModel out_of_core = fit_cpd(*tensor_, within({.host_bytes = minimum + extra}, options));

      EXPECT_EQ(out_of_core.fit_history, in_core.fit_history);
      EXPECT_EQ(out_of_core.weights, in_core.weights);
      EXPECT_EQ(out_of_core.factors, in_core.factors);
      if (extra == 0) {
        EXPECT_GT(streamed, tensor_->summary().chunk_count / 2);
      }
    }
  }
}

TEST_F(Cpd, ReadsWhatThePlanSays) {
  CpdOptions options{.rank = 4, .max_sweeps = 3, .tolerance = 0, .compute = {.threads = 2}};
  const std::uint64_t minimum = minimum_budget(*tensor_, options);
  CpdPlan plan;
  std::vector<std::uint64_t> bytes;
  options.on_plan = [&](const CpdPlan& made) { plan = made; };
  options.on_sweep = [&](const SweepReport& sweep) {
    bytes.push_back(sweep.bytes_read);
    return true;
  };

  fit_cpd(*tensor_, within({.host_bytes = minimum + 300'000}, options));

  ASSERT_GT(plan.packed_chunks, 0);
  ASSERT_GT(plan.streamed_chunks, 0);
  EXPECT_LE(plan.planned_bytes, minimum + 300'000);
  EXPECT_EQ(bytes[1], 3 * plan.disk_bytes_per_pass);
  EXPECT_EQ(bytes[2], 3 * plan.disk_bytes_per_pass);
}

TEST_F(Cpd, RefusesABudgetBelowTheMinimum) {
  const CpdOptions options{.rank = 4, .compute = {.threads = 1}};
  const std::uint64_t minimum = minimum_budget(*tensor_, options);

  try {
    fit_cpd(*tensor_, within({.host_bytes = minimum - 1}, options));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::out_of_memory);
  }
}

TEST_F(Cpd, ThreadsChangeNothingButRounding) {
  const CpdOptions one{.rank = 6, .max_sweeps = 4, .tolerance = 0, .compute = {.threads = 1}};
  CpdOptions three = one;
  three.compute.threads = 3;

  const CpdModel a = fit_cpd(*tensor_, one);
  const CpdModel b = fit_cpd(*tensor_, three);

  for (std::size_t sweep = 0; sweep < 4; ++sweep) EXPECT_NEAR(a.fit_history[sweep], b.fit_history[sweep], 1e-12);
}

TEST_F(Cpd, SeedFixesTheModelAndAnotherSeedGivesAnother) {
  const CpdOptions options{.rank = 3, .max_sweeps = 2, .tolerance = 0, .seed = 5, .compute = {.threads = 1}};
  CpdOptions other = options;
  other.seed = 6;

  const CpdModel model = fit_cpd(*tensor_, options);

  EXPECT_EQ(fit_cpd(*tensor_, options).factors, model.factors);
  EXPECT_NE(fit_cpd(*tensor_, other).factors, model.factors);
  EXPECT_EQ(model.seed, 5);
}

TEST_F(Cpd, SaysWhyItStopped) {
  const CpdOptions options{.rank = 2, .max_sweeps = 30, .tolerance = 0.5};
  CpdOptions cancelled = options;
  cancelled.on_sweep = [](const SweepReport& sweep) { return sweep.sweep < 1; };
  CpdOptions few = options;
  few.max_sweeps = 2;
  few.tolerance = 0;

  const CpdModel by_tolerance = fit_cpd(*tensor_, options);
  const CpdModel by_caller = fit_cpd(*tensor_, cancelled);
  const CpdModel by_sweeps = fit_cpd(*tensor_, few);

  EXPECT_EQ(by_tolerance.stop_reason, StopReason::tolerance);
  EXPECT_EQ(by_tolerance.fit_history.size(), 2);
  EXPECT_EQ(by_caller.stop_reason, StopReason::cancelled);
  EXPECT_EQ(by_caller.fit_history.size(), 1);
  EXPECT_EQ(by_sweeps.stop_reason, StopReason::sweeps);
  EXPECT_EQ(by_sweeps.fit_history.size(), 2);
}

TEST_F(Cpd, SinglePrecisionStaysNearTheFitOfDouble) {
  const CpdOptions wide{.rank = 8, .max_sweeps = 5, .tolerance = 0};
  CpdOptions narrow = wide;
  narrow.compute.precision = Precision::f32;

  EXPECT_NEAR(fit_cpd(*tensor_, narrow).fit(), fit_cpd(*tensor_, wide).fit(), 1e-5);
}

// Sums of f64 keep more of the fit than f32 does.
TEST_F(Cpd, MixedPrecisionStaysNearerToTheFitOfDouble) {
  const CpdOptions wide{.rank = 8, .max_sweeps = 5, .tolerance = 0};
  CpdOptions mixed = wide;
  mixed.compute.precision = Precision::mixed;

  const CpdModel model = fit_cpd(*tensor_, mixed);

  EXPECT_NEAR(model.fit(), fit_cpd(*tensor_, wide).fit(), 1e-9);
  for (const std::vector<double>& factor : model.factors) {
    for (const double number : factor) ASSERT_EQ(number, static_cast<double>(static_cast<float>(number)));
  }
}

// More components than a matrix has columns: those beyond cancel others, and f32 must hold what is left.
TEST(CpdNarrow, TellsTheFitOfTheModelThatItReturns) {
  struct Case {
    std::vector<std::uint64_t> shape;
    int rank;
  };
  for (const Precision precision : {Precision::f32, Precision::mixed}) {
    for (const auto& [shape, rank] : {Case{{8, 3}, 5}, {{5, 16, 1}, 16}, {{8, 1, 1, 3}, 4}, {{7, 18}, 8}}) {
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const CpdModel truth = uniform_model(shape, 9, seed);
        CoordinateTensor tensor{shape, cells_of(shape), {}};
        for (const Point& cell : tensor.points) tensor.values.push_back(model_value(truth, cell));
        const TemporaryFolder folder;
        CpdOptions options{.rank = rank, .seed = seed};
        options.compute.precision = precision;

        const CpdModel model = fit_cpd(ingest_small_chunks(folder, tensor), options);

        double residual = 0;
        double norm = 0;
        for (std::size_t i = 0; i < tensor.points.size(); ++i) {
          residual += std::pow(tensor.values[i] - model_value(model, tensor.points[i]), 2);
          norm += std::pow(tensor.values[i], 2);
        }
        const double fit = 1 - std::sqrt(residual / norm);
        EXPECT_NEAR(model.fit(), fit, 1e-3) << "seed " << seed << ", rank " << rank;
        EXPECT_GT(fit, precision == Precision::f32 ? 0.97 : 0.99) << "seed " << seed << ", rank " << rank;
      }
    }
  }
}

void expect_refused(const TensorFile& tensor, const CpdOptions& options, ErrorKind kind, const std::string& part) {
  try {
    fit_cpd(tensor, options);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_THAT(error.what(), testing::HasSubstr(part));
  }
}

TEST_F(Cpd, RefusesOptionsThatMakeNoSense) {
  const CpdModel of_other_rank = hash_model(tensor_->summary().shape, 3);
  const CpdModel of_other_shape = hash_model({300, 400, 501}, 4);
  CpdModel broken = hash_model(tensor_->summary().shape, 4);
  broken.factors[1][7] = std::nan("");

  expect_refused(*tensor_, {.rank = 0}, ErrorKind::invalid_argument, "rank");
  expect_refused(*tensor_, {.rank = 1'000'000}, ErrorKind::invalid_argument, "rank");
  expect_refused(*tensor_, {.rank = 4, .max_sweeps = 0}, ErrorKind::invalid_argument, "max_sweeps");
  expect_refused(*tensor_, {.rank = 4, .tolerance = std::nan("")}, ErrorKind::invalid_argument, "tolerance");
  const DeviceSearch found = find_device();
  if (!found.limits)
    expect_refused(*tensor_, {.rank = 4, .compute = {.devices = {"cuda"}}}, found.kind, "no GPU: " + found.reason);
  expect_refused(*tensor_, {.rank = 4, .initial = &of_other_rank}, ErrorKind::invalid_argument, "rank 3");
  expect_refused(*tensor_, {.rank = 4, .initial = &of_other_shape}, ErrorKind::invalid_argument,
                 "of the initial model has 501");
  expect_refused(*tensor_, {.rank = 4, .initial = &broken}, ErrorKind::invalid_argument, "factor 1");
}

TEST(CpdOrders, RecoversAPlantedModelOfEveryOrder) {
  for (std::size_t order = 1; order <= 8; ++order) {
    const TemporaryFolder folder;
    std::vector<std::uint64_t> shape(order, order < 4 ? 12 : 3);
    CoordinateTensor tensor{shape, {}, {}};
    Point point(order, 0);
    for (bool more = true; more;) {
      double value = 1;
      for (std::size_t n = 0; n < order; ++n) value *= static_cast<double>(point[n] + n + 1);
      tensor.points.push_back(point);
      tensor.values.push_back(value);
      std::size_t n = 0;
      while (n < order && ++point[n] == shape[n]) point[n++] = 0;
      more = n < order;
    }
    ingest_files({folder.write("in.tns", as_text(tensor))}, folder / "in.blco", {.chunk_nnz = 100});

    const CpdModel model = fit_cpd(TensorFile(folder / "in.blco"), {.rank = 1, .max_sweeps = 3, .tolerance = 0});

    EXPECT_GT(model.fit(), 1 - 1e-7) << "order " << order;
    EXPECT_LE(model.fit(), 1);
  }
}

}  // namespace
}  // namespace blco
