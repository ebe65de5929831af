// Under ThreadSanitizer, which ends the program with an error where it saw a race: every kernel of the rivals, in one
// order of threads, with blocks and warps that share rows.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/simt/bench/device_rivals.hpp"
#include "tests/simt/simt_control.hpp"

namespace blco::testing {
namespace {

static_assert(simt::finds_races);

struct RivalRaceCase {
  std::vector<std::uint64_t> shape;
  std::uint64_t nnz;
  int rank;
  Precision precision;
  double skew;
};

class EveryRival : public ::testing::TestWithParam<RivalRaceCase> {
 protected:
  EveryRival() {
    simt::reset();
    simt::set_order(simt::Order::shuffled, 3);
    simt::set_policy(simt::Policy::shuffled, 4);
  }
};

TEST_P(EveryRival, ComputesWithoutRaces) {
  const auto& [shape, nnz, rank, precision, skew] = GetParam();
  const DeviceRivalCase given(random_tensor({.shape = shape, .nnz = nnz, .seed = 2, .skew = skew}), rank);
  RivalKnobs knobs{.fiber_limit = 8, .thread_nonzeros = 8, .block_threads = 64};
  knobs.warps_per_fiber = 2;

  expect_every_kind(given, precision, knobs);
}

INSTANTIATE_TEST_SUITE_P(RivalRaces, EveryRival,
                         ::testing::Values(RivalRaceCase{{2, 40, 60}, 2600, 3, Precision::f64, 1},
                                           RivalRaceCase{{60, 50, 70}, 500, 33, Precision::f32, 3},
                                           RivalRaceCase{{300, 200, 400}, 100, 16, Precision::f64, 1},
                                           RivalRaceCase{{3, 6, 9, 40}, 400, 17, Precision::f64, 2},
                                           RivalRaceCase{{1, 3, 4, 12, 30}, 1500, 1, Precision::f32, 1},
                                           RivalRaceCase{{3, 2, 4, 3, 2, 3}, 200, 5, Precision::f64, 1}),
                         [](const auto& which) {
                           return "order" + std::to_string(which.param.shape.size()) + "_rank" +
                                  std::to_string(which.param.rank);
                         });

}  // namespace
}  // namespace blco::testing
