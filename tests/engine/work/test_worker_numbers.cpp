// Fits by L-BFGS whose numbers lie with several workers, beside fits of one: losses, bounds, held modes, few rows, and
// what travels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <blco/cpd.hpp>
#include <blco/ingest.hpp>
#include <string>
#include <vector>

#include "tests/engine/work/counting_peers.hpp"
#include "tests/engine/work/worker_fits.hpp"

namespace blco {
namespace {

struct LbfgsCase {
  std::string name;
  GcpMethod method;
  std::vector<std::uint64_t> shape = {120, 140, 90};
  bool has_initial = false;
};

void PrintTo(const LbfgsCase& test, std::ostream* out) { *out << test.name; }

std::vector<LbfgsCase> every_lbfgs() {
  const RowConstraint nonnegative{.set = RowSet::nonnegative};
  const RowConstraint held{.set = RowSet::held};
  constexpr int evaluations = 5;  // more of them would make the rounding of sums large
  const Loss poisson{LossKind::poisson};
  const auto of = [&](const Loss& loss, std::vector<RowConstraint> constraints = {}) {
    return GcpMethod{.loss = loss, .evaluations = evaluations, .constraints = std::move(constraints)};
  };
  return {{"gaussian", of({})},
          {"gaussian_nonnegative", of({}, {nonnegative, nonnegative, nonnegative})},
          {"gaussian_nonnegative_mode", of({}, {{}, nonnegative, {}})},
          {"gaussian_held", of({}, {{}, held, {}}), {120, 140, 90}, true},
          {"poisson", of(poisson)},
          {"poisson_held", of(poisson, {held, {}, {}}), {120, 140, 90}, true},
          {"poisson_from_a_model", of(poisson), {120, 140, 90}, true},
          // Visits all cells at rank 0.
          {"huber", of({LossKind::huber, 0.5}), {60, 50, 40}},
          // Fewer rows than workers, of which some have neither a row nor a chunk.
          {"gaussian_of_few_rows", of({}, {nonnegative, {}, nonnegative}), {2, 3, 4000}},
          {"poisson_of_few_rows", of(poisson), {2, 3, 4000}}};
}

class LbfgsOfWorkers : public testing::TestWithParam<LbfgsCase> {};

TEST_P(LbfgsOfWorkers, GivesTheModelOfOne) {
  const TemporaryFolder folder;
  const TensorFile tensor = ingest_counts(folder, GetParam().shape);
  CpdOptions options{
      .method = GetParam().method, .rank = 3, .max_sweeps = 3, .tolerance = 0, .compute = {.threads = 1}};
  const CpdModel initial = fit_cpd(tensor, {.method = AprMethod(), .rank = 3, .max_sweeps = 2});
  if (GetParam().has_initial) options.initial = &initial;
  const CpdModel alone = fit_cpd(tensor, options);
  ASSERT_LT(alone.objective_history.back(), alone.objective_history.front());
  for (const int size : {2, 3, 5, 8, 10}) {
    SCOPED_TRACE(std::to_string(size) + " workers");
    CountingPeers others(tensor, size, {.threads = 2});
    options.compute.peers = &others;
    expect_same_model(fit_cpd(tensor, options), alone, 1e-10);
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, LbfgsOfWorkers, testing::ValuesIn(every_lbfgs()),
                         [](const auto& test) { return test.param.name; });

// A loss without a closed form over the zeros, of a tensor that has none.
TEST(LbfgsOfWorkers, GivesTheModelOfOneWhereAllCellsAreListed) {
  const TemporaryFolder folder;
  CoordinateTensor full{{12, 20, 9}, {}, {}};
  for (std::uint64_t cell = 0; cell < 12 * 20 * 9; ++cell) {
    full.points.push_back({cell / 180, cell / 9 % 20, cell % 9});
    full.values.push_back(static_cast<double>(1 + cell * 7 % 11));
  }
  ingest_files({folder.write("full.tns", as_text(full))}, folder / "full.blco", {.chunk_nnz = 256});
  const TensorFile tensor(folder / "full.blco");
  CpdOptions options{.method = GcpMethod{.loss = {LossKind::gamma}, .evaluations = 5}, .rank = 2, .max_sweeps = 2};
  options.compute.threads = 1;
  const CpdModel alone = fit_cpd(tensor, options);
  CountingPeers others(tensor, 4, {.threads = 1});
  options.compute.peers = &others;
  expect_same_model(fit_cpd(tensor, options), alone, 1e-10);
}

// Chunks part the second mode, and no other; of its factor nothing travels.
TEST(LbfgsOfWorkers, KeepsNumbersWhereTheyAreOwned) {
  const TemporaryFolder folder;
  CoordinateTensor coordinates{{4, 8192, 4}, {}, {}};
  for (std::uint64_t i = 0; i < 8192 * 4; ++i) {
    coordinates.points.push_back({i / 4 % 4, i / 4, i % 4});
    coordinates.values.push_back(static_cast<double>(1 + i / 4 % 5));
  }
  ingest_files({folder.write("in.tns", as_text(coordinates))}, folder / "in.blco", {.chunk_nnz = 8192});
  const TensorFile tensor(folder / "in.blco");
  const std::vector<RowConstraint> nonnegative(3, RowConstraint{.set = RowSet::nonnegative});
  for (const GcpMethod& method :
       {GcpMethod(), GcpMethod{.constraints = nonnegative}, GcpMethod{.loss = {LossKind::poisson}}}) {
    const auto traffic_of = [&](int evaluations) {
      CountingPeers others(tensor, 4, {.threads = 1});
      CpdOptions options{.method = method, .rank = 16, .max_sweeps = 1, .tolerance = 0};
      std::get<GcpMethod>(options.method).evaluations = evaluations;
      options.compute.peers = &others;
      fit_cpd(tensor, options);
      return others.traffic();
    };
    const std::vector<Traffic> less = traffic_of(6);
    const std::vector<Traffic> more = traffic_of(10);
    for (std::size_t rank = 0; rank < more.size(); ++rank) {
      // Orders, sums, breakpoints, and the rows of the short modes.
      EXPECT_LT(more[rank].bytes - less[rank].bytes, 4 * 2048 * 16 * sizeof(double) / 2) << rank;
      EXPECT_GT(more[rank].bytes, less[rank].bytes);
    }
  }
}

}  // namespace
}  // namespace blco
