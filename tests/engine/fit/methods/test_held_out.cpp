// The error on held-out entries: what it is, and what a fit makes of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "blco/error.hpp"
#include "tests/engine/fit/methods/completion_case.hpp"

namespace blco {
namespace {

class HeldOutEntries : public CompletionCase {
 protected:
  static double error_of(const CpdModel& model, const CoordinateTensor& entries) {
    double squares = 0;
    for (std::size_t i = 0; i < entries.points.size(); ++i) {
      squares += std::pow(entries.values[i] - model_value(model, entries.points[i]), 2);
    }
    return std::sqrt(squares / static_cast<double>(entries.points.size()));
  }
};

TEST_F(HeldOutEntries, TellTheModelsError) {
  const TensorFile validation = held_out(4);
  CpdOptions options = completion_options(5, nullptr, {.validation = &validation});
  double error = 0;
  options.on_sweep = [&](const SweepReport& report) {
    error = report.validation_error.value();
    return true;
  };

  const CpdModel model = fit_cpd(tensor_, options);

  EXPECT_NEAR(error, error_of(model, noisy_cells(shape(), 2000, 4)), 1e-9);
}

// The mean is 4, and of means by mode those of rows 0 and 1 are 1 / 7 and -1 / 7 from it.
TEST_F(HeldOutEntries, AreComparedWithMeansAndCountedWhereTheirRowIsUnknown) {
  const TensorFile tensor = ingest_small_chunks(folder_, {{3, 2}, {{0, 0}, {0, 1}, {1, 0}, {1, 1}}, {5, 4, 3, 4}});
  const TemporaryFolder other;
  const TensorFile unseen = ingest_small_chunks(other, {{3, 2}, {{0, 0}, {2, 0}}, {5, 2}});
  CpdOptions options = completion_options(1, nullptr, {.validation = &unseen});
  HeldOutReport means;
  options.on_sweep = [&](const SweepReport& report) {
    means = report.held_out.value();
    return true;
  };

  fit_cpd(tensor, options);

  EXPECT_EQ(means.entries, 2);
  EXPECT_EQ(means.cold_entries, 1);
  EXPECT_NEAR(means.mean_error, std::sqrt((4 + 1) / 2.0), 1e-14);
  EXPECT_NEAR(means.mode_means_error, std::sqrt((4 + 36.0 / 49) / 2), 1e-14);
}

// Ratings of users and films with biases, tastes and noise; most films have few.
TEST_F(HeldOutEntries, AreNearerToAModelOfDefaultOptionsThanToMeans) {
  constexpr std::size_t users = 120;
  constexpr std::size_t films = 300;
  const CoordinateTensor noise = random_coordinates({.shape = {users, films}, .nnz = users * films, .seed = 9});
  const CpdModel rows = uniform_model({users, films}, 3, 5);
  std::array<CoordinateTensor, 2> parts;
  for (CoordinateTensor& part : parts) part.shape = {users, films};
  for (std::size_t i = 0; i < noise.points.size(); ++i) {
    const Point& cell = noise.points[i];
    if (i * 7919 % (cell[1] + 4) > 3) continue;
    const double* const user = &rows.factors[0][cell[0] * 3];
    const double* const film = &rows.factors[1][cell[1] * 3];
    CoordinateTensor& part = parts[i % 10 == 0 ? 1 : 0];
    part.points.push_back(cell);
    part.values.push_back(3.3 + 0.9 * (user[0] + film[0]) + 2 * user[1] * film[1] + 0.5 * noise.values[i]);
  }
  const TemporaryFolder other;
  const IngestOptions wanted{.duplicates = DuplicatePolicy::first};
  const TensorFile tensor = ingest_small_chunks(folder_, parts[0], wanted);
  const TensorFile unseen = ingest_small_chunks(other, parts[1], wanted);
  for (const int components : {1, 8}) {
    CpdOptions options{.method = CompletionMethod{.validation = &unseen}, .rank = components};
    options.compute.devices = {"cpu"};
    double least = std::numeric_limits<double>::infinity();
    HeldOutReport means;
    options.on_sweep = [&](const SweepReport& report) {
      least = std::min(least, report.validation_error.value());
      means = report.held_out.value();
      return true;
    };

    fit_cpd(tensor, options);

    EXPECT_LT(least, means.mean_error) << components;
    EXPECT_LT(least, means.mode_means_error) << components;
  }
}

// With many more unknowns than the entries can settle, the fit soon learns noise.
TEST_F(HeldOutEntries, EndAFitAfterTwentySweepsWithoutASmallerErrorAndThenTheModelOfTheLeastIsTheResult) {
  const TensorFile validation = held_out(4);
  CpdOptions options = completion_options(200, nullptr, {.validation = &validation});
  options.rank = 40;
  std::vector<double> errors;
  bool has_converged = false;
  options.on_sweep = [&](const SweepReport& report) {
    errors.push_back(report.validation_error.value());
    has_converged = report.converged;
    return true;
  };

  const CpdModel model = fit_cpd(tensor_, options);

  EXPECT_EQ(model.stop_reason, StopReason::tolerance);
  EXPECT_TRUE(has_converged);
  const auto least = std::ranges::min_element(errors);
  EXPECT_EQ(errors.end() - least, 21);
  EXPECT_NEAR(*least, error_of(model, noisy_cells(shape(), 2000, 4)), 1e-9);
}

TEST_F(HeldOutEntries, WidenTheLanesOfADeviceIfTheirChunksAreLarger) {
  const TensorFile small = held_out(4, {.chunk_nnz = 100});
  const TensorFile large = held_out(5, {.chunk_nnz = 2000});
  const DeclaredGpu gpu{.memory_bytes = std::uint64_t{1} << 30};
  const auto planned = [&](const TensorFile& validation) {
    CpdOptions options = completion_options(1, nullptr, {.validation = &validation});
    options.compute.devices = {};
    return plan_cpd(tensor_, options, &gpu);
  };

  EXPECT_GT(planned(large).device_minimum_bytes, planned(small).device_minimum_bytes);
  EXPECT_GT(planned(large).minimum_bytes, planned(small).minimum_bytes);
}

TEST_F(HeldOutEntries, WithOtherLabelsAreRefused) {
  const auto ingest_table = [this](const std::string& name, const std::string& text) {
    ingest_files({folder_.write(name + ".csv", text)}, folder_ / (name + ".blco"),
                 {.columns = {.modes = {"user", "film"}, .value = "stars"}});
    return TensorFile(folder_ / (name + ".blco"));
  };
  const TensorFile given = ingest_table("given", "user,film,stars\nann,up,3\nbob,brazil,4\nann,brazil,5\n");
  const TensorFile held_out = ingest_table("held-out", "user,film,stars\nbob,up,3\nann,brazil,4\n");

  try {
    fit_cpd(given, completion_options(1, nullptr, {.validation = &held_out}));
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "label 1 of mode 0 is 'ann' in the tensor, but 'bob' in the held-out entries; ingest them with the "
                 "tensor as `IngestOptions.columns.labels_from`, which keeps the numbers of its labels");
  }
}

TEST_F(HeldOutEntries, OfOtherIndicesAreRefused) {
  const auto complaint_of = [this](const CompletionMethod& method) -> std::string {
    try {
      fit_cpd(tensor_, completion_options(1, nullptr, method));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      return error.what();
    }
    return "accepted";
  };
  const TemporaryFolder other;
  const TensorFile longer = ingest_small_chunks(other, noisy_cells({60, 50, 41}, 500, 3));
  const TensorFile reordered = held_out(4, {.reorder = Reorder::frequency});

  EXPECT_EQ(complaint_of({.validation = &longer}),
            "`validation`: the held-out entries have the shape 60x50x41, but the tensor has the shape 60x50x40; ingest "
            "both with the same `IngestOptions.shape`, or hold some out of the input by `IngestOptions.hold_out`");
  EXPECT_EQ(complaint_of({.validation = &reordered}),
            "`validation`: mode 0 of the held-out entries is stored with other indices than that of the tensor; ingest "
            "both with `IngestOptions.reorder = none`");
  EXPECT_EQ(complaint_of({.cg_steps = 0}), "`cg_steps` must be at least 1");
}

}  // namespace
}  // namespace blco
