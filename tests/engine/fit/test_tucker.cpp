// Tucker models: what is in them, what is refused, and files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/memory_tensor.hpp>
#include <blco/tucker.hpp>
#include <cmath>
#include <fstream>
#include <numeric>
#include <vector>

#include "blco/error.hpp"
#include "tests/engine/fit/tucker_tensors.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

// The diagonal of a tensor, with these values.
MemoryTensor diagonal_tensor(const std::vector<double>& values) {
  std::vector<std::uint32_t> places(values.size());
  std::iota(places.begin(), places.end(), 0U);
  return MemoryTensor({.coordinates = {places, places, places}, .values = values});
}

TEST(Tucker, GivesBackATensorOfItsRanks) {
  const MemoryTensor tensor = dense_tensor();

  for (const auto& [method, threads] :
       {std::pair(TuckerMethod::hooi, 1), std::pair(TuckerMethod::hooi, 3), std::pair(TuckerMethod::hoqri, 1)}) {
    TuckerOptions options = of_ranks({3, 3, 3}, method);
    options.max_sweeps = 500;
    options.tolerance = 0;
    options.compute.threads = threads;
    const TuckerModel model = fit_tucker(tensor, options);

    EXPECT_EQ(model.method, to_string(method));
    for (std::uint64_t i = 0; i < tucker_length; ++i) {
      for (std::uint64_t k = 0; k < tucker_length; ++k) {
        const std::vector<std::uint64_t> cell{i, 2, k};
        EXPECT_NEAR(model.value(cell), cell_value(i, 2, k), 1e-9) << to_string(method);
      }
    }
  }
}

TEST(Tucker, ListsTheLargestNumbersOfCoreAndColumns) {
  TuckerModel model;
  model.shape = {2, 3};
  model.ranks = {2, 2};
  model.core = {0.5, -4, 0, 3};
  model.factors = {{0.6, 0.8, 0.8, -0.6}, {1, 0, 0, 0.28, 0, -0.96}};

  const std::vector<CoreEntry> core = model.top_of_core(2);
  const std::vector<FactorEntry> column = model.top(1, 1, 9);

  ASSERT_EQ(core.size(), 2U);
  EXPECT_EQ(core[0].index, (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(core[0].value, -4);
  EXPECT_EQ(core[1].index, (std::vector<std::uint64_t>{1, 1}));
  ASSERT_EQ(column.size(), 2U);
  EXPECT_EQ(column[0].row, 2U);
  EXPECT_EQ(column[0].value, -0.96);
  // 0.6 * (0.5 * 0 + -4 * -0.96) + 0.8 * (0 * 0 + 3 * -0.96)
  EXPECT_NEAR(model.value(std::vector<std::uint64_t>{0, 2}), 0.6 * 3.84 - 0.8 * 2.88, 1e-15);
  EXPECT_THROW(model.top(1, 2, 1), Error);
  EXPECT_THROW(model.value(std::vector<std::uint64_t>{0, 3}), Error);
}

// Of a superdiagonal of 1, 1/2, 1/4, ... the leading vectors are unit vectors, from which one sweep finds the best fit.
TEST(Tucker, StartsNearTheLeadingVectors) {
  std::vector<double> values;
  for (int i = 0; i < 32; ++i) values.push_back(std::ldexp(1, -i));
  const MemoryTensor tensor = diagonal_tensor(values);
  TuckerOptions options = of_ranks({8, 8, 8}, TuckerMethod::hoqri);
  options.max_sweeps = 1;
  const double random = fit_tucker(tensor, options).fit();
  options.start = TuckerStart::nvecs;
  const double sampled = fit_tucker(tensor, options).fit();
  // The squares that are left are those beyond the eighth.
  EXPECT_NEAR(sampled, 1 - std::pow(0.5, 8), 1e-6);
  EXPECT_LT(random, sampled - 1e-3);
}

TEST(Tucker, TakesAsManyColumnsAsSuit) {
  EXPECT_EQ(ranks_of(of_ranks({4}), {9, 3, 8}), (std::vector<int>{4, 3, 4}));
  EXPECT_EQ(ranks_of(of_ranks({4, 2, 2}), {9, 3, 8}), (std::vector<int>{4, 2, 2}));
}

TEST(Tucker, CutsOneRankToTheProductOfTheOthers) {
  EXPECT_EQ(ranks_of(of_ranks({8}), {100, 2, 2}), (std::vector<int>{4, 2, 2}));
  EXPECT_EQ(ranks_of(of_ranks({3}), {9}), (std::vector<int>{1}));
  EXPECT_THROW(ranks_of(of_ranks({1, 65536, 65536}), {9, 100'000, 100'000}), Error);
}

// A matrix of HOQRI has the squares of the values, and its decomposition squares these.
TEST(Tucker, IsTheSameOfValuesTimesAnything) {
  for (const TuckerMethod method : {TuckerMethod::hooi, TuckerMethod::hoqri}) {
    TuckerOptions options = of_ranks({2}, method);
    options.max_sweeps = 3;
    options.tolerance = 0;
    const TuckerModel expected = fit_tucker(diagonal_tensor({1, 2, 3, 4}), options);
    for (const int exponent : {300, -300}) {
      const double scale = std::ldexp(1, exponent);
      const TuckerModel model = fit_tucker(diagonal_tensor({scale, 2 * scale, 3 * scale, 4 * scale}), options);

      EXPECT_EQ(model.factors, expected.factors) << to_string(method) << ", 2^" << exponent;
    }
  }
}

TEST(Tucker, RefusesACoreThatIsNotFinite) {
  TuckerOptions options = of_ranks({2});
  options.compute.precision = Precision::f32;

  expect_refused(diagonal_tensor({1e39, 2e39, 3e39}), options, "is not finite");
}

TEST(Tucker, RefusesAnInitialModelOfOtherLabels) {
  TuckerOptions options = of_ranks({2});
  const TemporaryFolder folder;
  std::ofstream(folder / "a.csv") << "user,item,n\nAnn,x,1\nBob,y,2\nZoe,z,3\n";
  std::ofstream(folder / "b.csv") << "user,item,n\nZoe,x,1\nBob,y,2\nAnn,z,3\n";
  for (const char* const name : {"a", "b"}) {
    IngestOptions ingest;
    ingest.columns.modes = {"user", "item"};
    ingest.columns.value = "n";
    ingest_files({folder / (std::string(name) + ".csv")}, folder / name, ingest);
  }
  const TuckerModel of_a = fit_tucker(TensorFile(folder / "a"), options);
  options.initial = &of_a;

  EXPECT_NO_THROW(fit_tucker(TensorFile(folder / "a"), options));
  EXPECT_THROW(fit_tucker(TensorFile(folder / "b"), options), Error);
  save(of_a, folder / "model.h5");
  const TuckerModel loaded = load_tucker(folder / "model.h5");
  ASSERT_EQ(loaded.labels.size(), 2U);
  EXPECT_EQ(loaded.labels[0][2], "Zoe");
}

TEST(Tucker, RefusesRanksThatDoNotSuit) {
  const MemoryTensor tensor = dense_tensor();

  expect_refused(tensor, of_ranks({3, 3}), "give one for each");
  expect_refused(tensor, of_ranks({7, 7, 7}), "exceeds the mode's length of 6");
  expect_refused(tensor, of_ranks({5, 2, 2}), "exceeds the product of the other ranks, 4");
  expect_refused(tensor, of_ranks({0}), "must be at least 1");
}

// The unfolding of the long mode has 3000 x 256 numbers.
TEST(Tucker, TakesTheMethodThatTheBudgetHolds) {
  const std::vector<std::uint32_t> first{0, 700, 2999};
  const std::vector<std::uint32_t> other{0, 12, 19};
  const std::vector<double> values{1, 2, 3};
  const MemoryTensor tensor({.coordinates = {first, other, other}, .values = values}, {.shape = {3000, 20, 20}});
  TuckerOptions options = of_ranks({16}, TuckerMethod::hoqri);
  const std::uint64_t least = plan_tucker(tensor, options).plan.minimum_bytes;
  options.method = TuckerMethod::automatic;

  EXPECT_EQ(plan_tucker(tensor, options).method, TuckerMethod::hooi);
  options.compute.memory.host_bytes = least;
  const TuckerPlan plan = plan_tucker(tensor, options);
  EXPECT_EQ(plan.method, TuckerMethod::hoqri);
  EXPECT_LE(plan.plan.planned_bytes, least);
  options.compute.deterministic = true;  // so the budget may not choose
  EXPECT_THROW(plan_tucker(tensor, options), Error);
}

// Of 4000 cells of a tensor in several chunks: where the budget has room, HOOI takes one pass a mode, else slabs.
TEST(Tucker, HasTheSameBitsFromOnePassOfAModeAsFromSlabs) {
  std::vector<std::vector<std::uint32_t>> modes(4);
  std::vector<double> values;
  for (std::uint32_t i = 0; i < 4000; ++i) {
    modes[0].push_back(i * 7 % 3001);
    modes[1].push_back(i * 13 % 19);
    modes[2].push_back(i * i % 17);
    modes[3].push_back(i % 23);
    values.push_back(std::sin(i));
  }
  const MemoryTensor tensor({.coordinates = {modes[0], modes[1], modes[2], modes[3]}, .values = values},
                            {.chunk_nnz = 1000});
  TuckerOptions options = of_ranks({8});
  options.max_sweeps = 3;
  options.tolerance = 0;
  options.compute.deterministic = true;
  const TuckerPlan ample = plan_tucker(tensor, options);
  const TuckerModel expected = fit_tucker(tensor, options);

  options.compute.memory.host_bytes = ample.plan.minimum_bytes;
  const TuckerPlan least = plan_tucker(tensor, options);
  const TuckerModel model = fit_tucker(tensor, options);

  EXPECT_EQ(ample.passes_per_sweep, 4U);
  EXPECT_EQ(least.passes_per_sweep, 4U * 8);  // of 512 columns, 64 at a time
  EXPECT_LT(least.plan.planned_bytes, ample.plan.planned_bytes);
  EXPECT_EQ(model.core, expected.core);
  EXPECT_EQ(model.factors, expected.factors);
}

// The sampled matrices come from slabs, whether the sweeps do or not.
TEST(Tucker, StartsFromTheSameSamplesInAnyBudget) {
  const MemoryTensor tensor = dense_tensor();
  TuckerOptions options = of_ranks({2, 3, 4});
  options.start = TuckerStart::nvecs;
  options.max_sweeps = 1;
  options.compute.deterministic = true;
  const TuckerModel expected = fit_tucker(tensor, options);

  options.compute.memory.host_bytes = plan_tucker(tensor, options).plan.minimum_bytes;

  EXPECT_EQ(fit_tucker(tensor, options).core, expected.core);
}

TEST(Tucker, KeepsTheModelOfTheLastSweepWhenStopped) {
  const MemoryTensor tensor = dense_tensor();
  TuckerOptions options = of_ranks({2});
  options.tolerance = 0;
  options.on_sweep = [](const SweepReport& report) { return report.sweep < 3; };

  const TuckerModel model = fit_tucker(tensor, options);

  EXPECT_EQ(model.sweeps(), 3U);
  EXPECT_EQ(model.stop_reason, StopReason::cancelled);
  EXPECT_GT(model.fit(), 0.5);
}

// Of 300 cells in several chunks, whose order depends on the pass.
MemoryTensor tensor_in_chunks() {
  std::vector<std::vector<std::uint32_t>> modes(3);
  std::vector<double> values;
  for (std::uint32_t i = 0; i < 300; ++i) {
    modes[0].push_back(i * 7 % 31);
    modes[1].push_back(i * 13 % 19);
    modes[2].push_back(i * i % 17);
    values.push_back(std::sin(i));
  }
  return MemoryTensor({.coordinates = {modes[0], modes[1], modes[2]}, .values = values}, {.chunk_nnz = 64});
}

TEST(Tucker, ResumesWithTheSameBits) {
  const TemporaryFolder folder;
  const MemoryTensor tensor = tensor_in_chunks();
  for (const TuckerMethod method : {TuckerMethod::hooi, TuckerMethod::hoqri}) {
    TuckerOptions options = of_ranks({3, 5, 4}, method);
    options.max_sweeps = 7;
    options.tolerance = 0;
    options.start = TuckerStart::nvecs;
    const TuckerModel expected = fit_tucker(tensor, options);
    TuckerOptions cut = options;
    cut.checkpoint = folder.path() / "checkpoint.h5";
    cut.checkpoint_sweeps = 2;
    cut.max_sweeps = 3;
    const TuckerModel first = fit_tucker(tensor, cut);

    TuckerOptions resumed = of_ranks({}, method);
    resumed.max_sweeps = 7;
    resumed.tolerance = 0;
    resumed.resume = cut.checkpoint;
    const TuckerModel model = fit_tucker(tensor, resumed);

    EXPECT_EQ(first.sweeps(), 3U);
    EXPECT_EQ(model.fit_history, expected.fit_history) << to_string(method);
    EXPECT_EQ(model.core, expected.core) << to_string(method);
    EXPECT_EQ(model.factors, expected.factors) << to_string(method);
    resumed.max_sweeps = 3;  // nothing is left to do
    EXPECT_EQ(fit_tucker(tensor, resumed).core, first.core);
  }
}

TEST(Tucker, SavesACheckpointOfEverySecondSweepAndOfTheLast) {
  const TemporaryFolder folder;
  const MemoryTensor tensor = tensor_in_chunks();
  TuckerOptions options = of_ranks({2});
  options.checkpoint = folder.path() / "checkpoint.h5";
  options.checkpoint_sweeps = 2;
  options.max_sweeps = 5;
  options.tolerance = 0;
  std::vector<int> saved;
  options.on_checkpoint = [&](const CheckpointReport& report) { saved.push_back(report.failure ? -1 : report.sweep); };

  fit_tucker(tensor, options);

  EXPECT_EQ(saved, (std::vector<int>{2, 4, 5}));
  EXPECT_EQ(load_tucker(options.checkpoint).sweeps(), 5U);
}

TEST(Tucker, RefusesToResumeWhatDoesNotSuit) {
  const TemporaryFolder folder;
  const MemoryTensor tensor = tensor_in_chunks();
  TuckerOptions options = of_ranks({2});
  options.max_sweeps = 3;
  options.tolerance = 0;
  options.checkpoint = folder.path() / "checkpoint.h5";
  fit_tucker(tensor, options);
  const auto with = [&](auto change) {
    TuckerOptions resumed = of_ranks({}, TuckerMethod::automatic);
    resumed.resume = options.checkpoint;
    change(resumed);
    return resumed;
  };

  expect_refused(dense_tensor(), with([](TuckerOptions&) {}), "another tensor");
  expect_refused(tensor, with([](TuckerOptions& of) { of.ranks = {3}; }), "other ranks");
  expect_refused(tensor, with([](TuckerOptions& of) { of.method = TuckerMethod::hoqri; }), "hooi");
  expect_refused(tensor, with([](TuckerOptions& of) { of.max_sweeps = 2; }), "3 sweeps");
  expect_refused(tensor, with([](TuckerOptions& of) { of.checkpoint_sweeps = 0; }), "checkpoint_sweeps");
}

TEST(Tucker, HasNoModelBeforeTheFirstSweep) {
  const MemoryTensor tensor = dense_tensor();
  TuckerOptions options = of_ranks({2});
  options.on_progress = [](const Progress&) { return false; };

  try {
    fit_tucker(tensor, options);
    FAIL() << "not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::cancelled);
  }
}

TEST(Tucker, IsTheSameFromItsFile) {
  const TemporaryFolder folder;
  TuckerModel model = fit_tucker(dense_tensor(), of_ranks({2, 3, 2}));
  model.mode_names = {"a", "größe", "c"};
  model.labels = {Labels(), Labels(), Labels()};
  save(model, folder / "tucker.h5");

  const TuckerModel loaded = load_tucker(folder / "tucker.h5");

  EXPECT_TRUE(is_tucker(folder / "tucker.h5"));
  EXPECT_FALSE(is_model(folder / "tucker.h5"));
  EXPECT_EQ(loaded.shape, model.shape);
  EXPECT_EQ(loaded.ranks, model.ranks);
  EXPECT_EQ(loaded.core, model.core);
  EXPECT_EQ(loaded.factors, model.factors);
  EXPECT_EQ(loaded.fit_history, model.fit_history);
  EXPECT_EQ(loaded.mode_names, model.mode_names);
  EXPECT_EQ(loaded.stop_reason, model.stop_reason);
  EXPECT_EQ(loaded.tensor_nnz, model.tensor_nnz);
  EXPECT_EQ(loaded.tensor_sum_of_squares, model.tensor_sum_of_squares);
  EXPECT_EQ(loaded.method, model.method);
  EXPECT_EQ(loaded.seed, model.seed);
  EXPECT_THROW(load_model(folder / "tucker.h5"), Error);
}

TEST(Tucker, OfADamagedFileIsRefused) {
  const TemporaryFolder folder;
  const auto file = folder / "tucker.h5";
  save(fit_tucker(dense_tensor(), of_ranks({2})), file);
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(0, std::ios::end);
  const auto size = static_cast<std::streamoff>(stream.tellg());
  stream.seekp(size / 2);
  const int byte = stream.peek();
  stream.seekp(size / 2);
  stream.put(static_cast<char>(byte ^ 16));
  stream.close();

  try {
    load_tucker(file);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::corrupt);
  }
}

}  // namespace
}  // namespace blco
