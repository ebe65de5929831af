// The probes of a device's peaks in the emulator: they check their own sums, and address memory as they may.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/device_kind.hpp"
#include "tests/bench/machine/device_peaks.hpp"
#include "tests/simt/emulated_backend.hpp"
#include "tests/simt/simt_control.hpp"

namespace blco::testing {
namespace {

constexpr PeakEffort least_effort{.seconds = 0, .repeats = 1};

class DevicePeaksTest : public ::testing::TestWithParam<simt::Order> {
 protected:
  DevicePeaksTest() {
    simt::reset();
    simt::set_order(GetParam());
    simt::set_device({.multiprocessors = 2, .l2_bytes = 256 << 10, .memory_bytes = 16 << 20});
  }
};

TEST_P(DevicePeaksTest, MeasuresEveryLevelAndPrecision) {
  const DeviceLimits limits = *find_device().limits;

  const DevicePeaks peaks = measure_device_peaks(least_effort);

  // On each multiprocessor 4 blocks of 256 threads, each with 4 loads of 8 bytes on their way.
  const auto at_once = static_cast<std::uint64_t>(limits.multiprocessors) * 4 * 256 * 4 * 8;
  EXPECT_EQ(peaks.shared_bytes, 64U << 10);
  EXPECT_EQ(peaks.cache_bytes, std::max<std::uint64_t>(limits.l2_bytes / 4 / at_once, 1) * at_once);
  EXPECT_GT(peaks.memory_bytes, limits.l2_bytes);
  EXPECT_LE(peaks.memory_bytes, limits.free_bytes / 8);
  EXPECT_EQ(peaks.memory_bytes % at_once, 0U);
  for (const double speed : {peaks.shared_bytes_per_second, peaks.cache_bytes_per_second, peaks.memory_bytes_per_second,
                             peaks.f64_flops_per_second, peaks.f32_flops_per_second}) {
    EXPECT_GT(speed, 0);
    EXPECT_TRUE(std::isfinite(speed));
  }
  EXPECT_EQ(peaks.warps.size(), 6U);
  for (const WarpSpeed& of : peaks.warps) EXPECT_TRUE(of.per_second > 0 && std::isfinite(of.per_second)) << of.name;
  EXPECT_EQ(simt::counters().live_allocations, 0U);
}

INSTANTIATE_TEST_SUITE_P(Orders, DevicePeaksTest, ::testing::Values(simt::Order::forward, simt::Order::shuffled));

TEST(DevicePeaks, SaysThatAProbeFailed) {
  SKIP_ON_HARDWARE();
  for (const char* const call : {"launch", "kernel", "cudaMalloc"}) {
    simt::reset();
    simt::set_device({.multiprocessors = 1, .memory_bytes = 16 << 20});
    simt::fail_call(call, 1, 719);

    EXPECT_THROW(measure_device_peaks(least_effort), Error) << call;
  }
}

TEST(DevicePeaks, NeedsADevice) {
  SKIP_ON_HARDWARE();
  simt::reset();
  simt::set_device({.present = false});

  EXPECT_THROW(measure_device_peaks(least_effort), Error);
}

}  // namespace
}  // namespace blco::testing
