// Tucker models whose matrices and unfoldings lie with several workers, beside those of one: methods, starts, held
// modes, few rows, checkpoints, and what travels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <blco/core_consistency.hpp>
#include <blco/cpd.hpp>
#include <blco/ingest.hpp>
#include <blco/tucker.hpp>
#include <string>
#include <vector>

#include "tests/engine/work/counting_peers.hpp"
#include "tests/engine/work/worker_fits.hpp"

namespace blco {
namespace {

struct TuckerCase {
  std::string name;
  TuckerOptions options;
  std::vector<std::uint64_t> shape = {120, 140, 90};
  std::uint64_t rows_of_initial = 0;  // of the first mode; 0: there is no initial model
};

void PrintTo(const TuckerCase& test, std::ostream* out) { *out << test.name; }

std::vector<TuckerCase> every_tucker() {
  const std::vector<RowConstraint> held{{}, {.set = RowSet::held}, {}};
  const std::vector<RowConstraint> all_held(3, RowConstraint{.set = RowSet::held});
  const auto of = [](TuckerMethod method, std::vector<int> ranks, TuckerStart start = TuckerStart::random,
                     std::vector<RowConstraint> constraints = {}) {
    return TuckerOptions{.method = method,
                         .ranks = std::move(ranks),
                         .max_sweeps = 4,
                         .tolerance = 0,
                         .start = start,
                         .constraints = std::move(constraints)};
  };
  constexpr auto hooi = TuckerMethod::hooi;
  constexpr auto hoqri = TuckerMethod::hoqri;
  constexpr auto random = TuckerStart::random;
  return {{"hooi", of(hooi, {3, 4, 2})},
          {"hooi_from_samples", of(hooi, {3, 4, 2}, TuckerStart::nvecs)},
          {"hooi_in_several_slabs", of(hooi, {3, 12, 9})},
          {"hooi_with_more_columns_than_rows", of(hooi, {3, 12, 11}, random), {120, 140, 20}},
          {"hooi_from_a_smaller_model", of(hooi, {3, 4, 2}), {120, 140, 90}, 100},
          {"hooi_with_a_held_mode", of(hooi, {3, 4, 2}, random, held), {120, 140, 90}, 120},
          {"hooi_with_held_modes", of(hooi, {3, 4, 2}, random, all_held), {120, 140, 90}, 120},
          {"hoqri", of(hoqri, {3, 4, 2})},
          {"hoqri_from_samples", of(hoqri, {3, 4, 2}, TuckerStart::nvecs)},
          {"hoqri_with_a_held_mode", of(hoqri, {3, 4, 2}, random, held), {120, 140, 90}, 120},
          // Fewer rows than workers, of which some have neither a row nor a chunk.
          {"hooi_of_few_rows", of(hooi, {2, 2, 3}, TuckerStart::nvecs), {2, 3, 4000}},
          {"hoqri_of_few_rows", of(hoqri, {2, 2, 3}), {2, 3, 4000}}};
}

void expect_same_tucker(const TuckerModel& actual, const TuckerModel& expected) {
  EXPECT_EQ(actual.method, expected.method);
  expect_near(actual.fit_history, expected.fit_history, 1e-10);
  // Vectors of singular values that are near each other turn by more than rounding.
  expect_near(actual.core, expected.core, 1e-6);
  for (std::size_t n = 0; n < expected.factors.size(); ++n) {
    expect_near(actual.factors[n], expected.factors[n], 1e-6);
  }
}

class MatricesOfWorkers : public testing::TestWithParam<TuckerCase> {};

TEST_P(MatricesOfWorkers, GiveTheModelOfOne) {
  const TemporaryFolder folder;
  const TensorFile tensor = ingest_counts(folder, GetParam().shape);
  TuckerOptions options = GetParam().options;
  options.compute.threads = 1;
  TuckerModel initial;
  if (const std::uint64_t rows = GetParam().rows_of_initial; rows != 0) {
    initial = fit_tucker(tensor, {.ranks = options.ranks, .max_sweeps = 1, .seed = 7});
    initial.factors[0].resize(rows * static_cast<std::size_t>(options.ranks[0]));
    initial.shape[0] = rows;
    options.initial = &initial;
  }
  const TuckerModel alone = fit_tucker(tensor, options);
  ASSERT_GT(alone.fit(), 0);
  for (const int size : {2, 3, 5, 8, 10}) {
    SCOPED_TRACE(std::to_string(size) + " workers");
    CountingPeers others(tensor, size, {.threads = 2});
    options.compute.peers = &others;
    expect_same_tucker(fit_tucker(tensor, options), alone);
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, MatricesOfWorkers, testing::ValuesIn(every_tucker()),
                         [](const auto& test) { return test.param.name; });

class ReorderedMatrices : public testing::Test {
 protected:
  static TensorFile ingest(const TemporaryFolder& folder, const std::string& name, bool reorder) {
    const CoordinateTensor tensor = random_coordinates({.shape = {120, 140, 90}, .nnz = 20'000, .seed = 4});
    ingest_files(
        {folder.write(name + ".tns", as_text(tensor))}, folder / (name + ".blco"),
        {.shape = {120, 140, 90}, .reorder = reorder ? Reorder::frequency : Reorder::none, .chunk_nnz = chunk_nnz});
    return TensorFile(folder / (name + ".blco"));
  }
};

// Rows lie in the container's order, and models in the tensor's.
TEST_F(ReorderedMatrices, GiveTheModelOfATensorInOrder) {
  const TemporaryFolder folder;
  const TensorFile plain = ingest(folder, "plain", false);
  const TensorFile reordered = ingest(folder, "reordered", true);
  ASSERT_FALSE(reordered.summary().reordered_modes.empty());
  for (const TuckerStart start : {TuckerStart::random, TuckerStart::nvecs}) {
    TuckerOptions options{.ranks = {3, 4, 2}, .max_sweeps = 4, .tolerance = 0, .start = start};
    const TuckerModel expected = fit_tucker(plain, options);
    expect_same_tucker(fit_tucker(reordered, options), expected);
    CountingPeers others(reordered, 3);
    options.compute.peers = &others;
    expect_same_tucker(fit_tucker(reordered, options), expected);
  }
}

TEST_F(ReorderedMatrices, GoOnFromCheckpointsOfOtherWorkers) {
  const TemporaryFolder folder;
  const TensorFile tensor = ingest(folder, "in", true);
  for (const TuckerMethod method : {TuckerMethod::hooi, TuckerMethod::hoqri}) {
    TuckerOptions options{.method = method, .ranks = {3, 4, 2}, .max_sweeps = 6, .tolerance = 0};
    const TuckerModel expected = fit_tucker(tensor, options);
    options.max_sweeps = 3;
    options.checkpoint = folder / "checkpoint.h5";
    {
      CountingPeers others(tensor, 5);
      options.compute.peers = &others;
      fit_tucker(tensor, options);
    }
    TuckerOptions rest{.method = method, .ranks = {}, .max_sweeps = 6, .tolerance = 0};
    rest.resume = options.checkpoint;
    expect_same_tucker(fit_tucker(tensor, rest), expected);
    CountingPeers others(tensor, 3);
    rest.compute.peers = &others;
    expect_same_tucker(fit_tucker(tensor, rest), expected);
  }
}

TEST(MatricesOfWorkers, GiveTheStartOfOneAndItsCoreConsistency) {
  const TemporaryFolder folder;
  const TensorFile tensor = ingest_counts(folder, {120, 140, 90});
  CpdOptions options{.rank = 3, .max_sweeps = 3, .tolerance = 0, .start = Start::nvecs};
  const CpdModel alone = fit_cpd(tensor, options);
  const std::optional<double> consistency = core_consistency(tensor, alone, {});
  CountingPeers others(tensor, 4);
  options.compute.peers = &others;
  expect_same_model(fit_cpd(tensor, options), alone, 1e-8);
  const std::optional<double> shared = core_consistency(tensor, alone, options.compute);
  ASSERT_TRUE(consistency && shared);
  EXPECT_NEAR(*shared, *consistency, 1e-8 * std::abs(*consistency));
}

// Chunks part the second mode, and no other; its matrix stays with its owners.
TEST(MatricesOfWorkers, KeepTheirRows) {
  const TemporaryFolder folder;
  CoordinateTensor coordinates{{4, 8192, 4}, {}, {}};
  for (std::uint64_t i = 0; i < 8192 * 4; ++i) {
    coordinates.points.push_back({i / 4 % 4, i / 4, i % 4});
    coordinates.values.push_back(static_cast<double>(1 + i / 4 % 5 + i % 3));
  }
  ingest_files({folder.write("in.tns", as_text(coordinates))}, folder / "in.blco", {.chunk_nnz = 8192});
  const TensorFile tensor(folder / "in.blco");
  for (const TuckerMethod method : {TuckerMethod::hooi, TuckerMethod::hoqri}) {
    const auto traffic_of = [&](int sweeps) {
      CountingPeers others(tensor, 4, {.threads = 1});
      TuckerOptions options{.method = method, .ranks = {2, 4, 2}, .max_sweeps = sweeps, .tolerance = 0};
      options.compute.peers = &others;
      fit_tucker(tensor, options);
      return others.traffic();
    };
    const std::vector<Traffic> less = traffic_of(2);
    const std::vector<Traffic> more = traffic_of(4);
    for (std::size_t rank = 0; rank < more.size(); ++rank) {
      // Orders, triangles, cores, and the rows of the short modes: less than a worker's rows of the long one.
      EXPECT_LT(more[rank].bytes - less[rank].bytes, 2 * 2048 * 4 * sizeof(double)) << rank;
      EXPECT_GT(more[rank].bytes, less[rank].bytes);
    }
  }
}

TEST(MatricesOfWorkers, FitAThirdOfTheMemoryOfOne) {
  const TemporaryFolder folder;
  const std::vector<std::uint64_t> shape = {200'000, 150'000, 100'000};
  const TensorFile tensor = ingest_counts(folder, shape);
  TuckerOptions options{.method = TuckerMethod::hooi, .ranks = {6, 6, 6}, .max_sweeps = 2, .tolerance = 0};
  options.compute.threads = 1;
  const TuckerModel alone = fit_tucker(tensor, options);
  const std::uint64_t third = plan_tucker(tensor, options).plan.minimum_bytes / 3;

  CountingPeers others(tensor, 8, {.threads = 1, .memory = {.host_bytes = third}});
  options.compute.peers = &others;
  options.compute.memory.host_bytes = third + 450'000 * 6 * sizeof(double);  // and the model

  expect_same_tucker(fit_tucker(tensor, options), alone);
}

}  // namespace
}  // namespace blco
