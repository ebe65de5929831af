// Slabs of columns, on a device that is the CPU: passes and row updates as without slabs, whatever changes in between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "blco/error.hpp"
#include "kernels/device_kind.hpp"
#include "tests/kernels/backend_cases.hpp"
#include "tests/kernels/held_cases.hpp"
#include "tests/kernels/wide_rows.hpp"
#include "tests/random_tensor.hpp"

namespace blco::testing {
namespace {

struct SlabCase {
  int rank;
  int columns;
  int slabs;
};

class SlabBackendOf : public ::testing::TestWithParam<SlabCase> {
 protected:
  static constexpr int threads = 2;

  BackendConfig config() const {
    return {.layout = TensorLayout(tensor_.shape), .rank = GetParam().rank, .dual_modes = mode_bit(1)};
  }
  std::unique_ptr<Backend> make() {
    return slab_kind(host_kind(), GetParam().rank, GetParam().columns)->make(config(), executor_);
  }

  void pass(Backend& backend, int mode) const {
    PassRequest request(mode);
    for (; request.slab < backend.slabs(); ++request.slab) {
      backend.begin_pass(request);
      for (const EncodedChunk& chunk : chunks_) backend.submit(0, chunk.view());
      backend.finish_pass();
    }
  }

  std::vector<double> rows_of(const Backend& backend, int mode, bool is_output) const {
    std::vector<double> rows(tensor_.shape[static_cast<std::size_t>(mode)] *
                             static_cast<std::uint64_t>(GetParam().rank));
    is_output ? backend.read_output(mode, 0, rows) : backend.store_factor(mode, 0, rows);
    return rows;
  }

  CooTensor tensor_ = random_tensor({.shape = {40, 7, 90}, .nnz = 900, .seed = 4});
  std::vector<EncodedChunk> chunks_ = encode(tensor_, 200);
  ThreadExecutor executor_{threads};
};

TEST_P(SlabBackendOf, GivesTheOutputsAndUpdatesOfTheReference) {
  const std::unique_ptr<Backend> slabs = make();
  const std::unique_ptr<Backend> whole = make_reference_backend(config());
  const int rank = GetParam().rank;
  const auto factors = random_factors(tensor_.shape, rank, 3);
  for (int mode = 0; mode < 3; ++mode) {
    slabs->load_factor(mode, 0, factors[static_cast<std::size_t>(mode)]);
    whole->load_factor(mode, 0, factors[static_cast<std::size_t>(mode)]);
  }
  EXPECT_EQ(slabs->slabs(), GetParam().slabs);

  const RowSolver solver(definite_matrix(rank), rank);
  for (const int mode : {0, 1, 2, 0, 0, 2, 1}) {
    RowProblem problem(solver);
    if (mode == 1) problem.constraint = {.set = RowSet::box, .lower = 0, .upper = 1};
    if (mode == 1) problem.rho = 1;
    pass(*slabs, mode);
    pass(*whole, mode);
    EXPECT_THAT(rows_of(*slabs, mode, true),
                ::testing::Pointwise(::testing::DoubleNear(1e-11), rows_of(*whole, mode, true)));

    const RowUpdate actual = slabs->update_rows(mode, problem);
    const RowUpdate expected = whole->update_rows(mode, problem);

    EXPECT_THAT(actual.norms, ::testing::Pointwise(::testing::DoubleNear(1e-11), expected.norms));
    EXPECT_THAT(rows_of(*slabs, mode, false),
                ::testing::Pointwise(::testing::DoubleNear(1e-11), rows_of(*whole, mode, false)));
  }
}

TEST_P(SlabBackendOf, MayHoldSomeRows) {
  const HeldCase held(tensor_, mode_bit(0) | mode_bit(2));
  BackendConfig some = config();
  some.held = held.index();
  const int rank = GetParam().rank;
  const auto factors = random_factors(tensor_.shape, rank, 3);
  const auto slabs = slab_kind(host_kind(), rank, GetParam().columns)->make(some, executor_);
  for (int mode = 0; mode < 3; ++mode) {
    slabs->load_factor(mode, 0, held.part(static_cast<std::size_t>(mode), factors[static_cast<std::size_t>(mode)]));
  }

  for (const int mode : {0, 1, 2}) {
    const auto n = static_cast<std::size_t>(mode);
    std::vector<double> rows(held.rows(n).size() * static_cast<std::size_t>(rank));
    pass(*slabs, mode);
    slabs->read_output(mode, 0, rows);

    EXPECT_THAT(rows, RowsNear(held.part(n, coordinate_mttkrp(tensor_, factors, rank, n)), 1e-12)) << "mode " << mode;
  }
}

TEST_P(SlabBackendOf, RefusesPassesThatNeedAllColumns) {
  const std::unique_ptr<Backend> slabs = make();
  const auto expect_refused = [&](const PassRequest& request) {
    try {
      slabs->begin_pass(request);
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_THAT(error.what(), ::testing::HasSubstr("no MTTKRP"));
    }
  };

  expect_refused(PassRequest(EntryFunction{.rule = EntryRule::ratio}, mode_bit(0)));
  expect_refused(PassRequest(0, Product::kronecker));
}

// More columns than a slab, a last slab of one column, one column each, and all at once.
INSTANTIATE_TEST_SUITE_P(Slabs, SlabBackendOf,
                         ::testing::Values(SlabCase{16, 8, 2}, SlabCase{5, 2, 3}, SlabCase{3, 1, 3}, SlabCase{4, 4, 1},
                                           SlabCase{17, 6, 3}),
                         [](const auto& which) {
                           return "rank" + std::to_string(which.param.rank) + "_by" +
                                  std::to_string(which.param.columns);
                         });

}  // namespace
}  // namespace blco::testing
