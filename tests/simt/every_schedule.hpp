// A tensor and its backend on streams whose work runs late and in any legal order.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/simt/emulated_backend.hpp"
#include "tests/simt/simt_control.hpp"

namespace blco::testing {

inline constexpr double backend_tolerance = 1e-12;
inline constexpr int backend_rank = 8;

struct Schedule {
  simt::Policy policy;
  std::uint64_t seed;
};

class EverySchedule : public ::testing::TestWithParam<Schedule> {
 protected:
  EverySchedule()
      : tensor_(random_tensor({.shape = {40, 3, 57}, .nnz = 2500, .seed = 2})),
        factors_(random_factors(tensor_.shape, backend_rank, 11)),
        chunks_(encode(tensor_, 300)) {
    simt::reset();
    simt::set_policy(GetParam().policy, GetParam().seed);
  }
  ~EverySchedule() override {
    const simt::Counters left = simt::counters();
    EXPECT_EQ(left.live_allocations, 0U);
    EXPECT_EQ(left.live_pinned, 0U);
    EXPECT_EQ(left.live_streams, 0U);
    EXPECT_EQ(left.live_events, 0U);
  }

  EmulatedBackend backend(const EmulatedOptions& options = {.rank = backend_rank}) const {
    EmulatedBackend made(tensor_.shape, options);
    made.load(factors_);
    return made;
  }

  ExpectedRows expected(std::size_t mode) const { return coordinate_mttkrp(tensor_, factors_, backend_rank, mode); }

  CooTensor tensor_;
  std::vector<std::vector<double>> factors_;
  std::vector<EncodedChunk> chunks_;
};

inline const std::vector<Schedule> schedules{{simt::Policy::eager, 1},
                                             {simt::Policy::lazy, 1},
                                             {simt::Policy::shuffled, 1},
                                             {simt::Policy::shuffled, 2},
                                             {simt::Policy::shuffled, 3}};

inline std::string name_of_schedule(const ::testing::TestParamInfo<Schedule>& which) {
  const Schedule& schedule = which.param;
  return schedule.policy == simt::Policy::eager  ? std::string("eager")
         : schedule.policy == simt::Policy::lazy ? std::string("lazy")
                                                 : "shuffled" + std::to_string(schedule.seed);
}

}  // namespace blco::testing
