// The TTMc kernels in the emulator, in three thread orders and every policy of streams, against the serial reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "blco/error.hpp"
#include "tests/simt/every_schedule.hpp"
#include "tests/simt/simt_control.hpp"
#include "tests/simt/ttmc_cases.hpp"

namespace blco::testing {
namespace {

class TtmcKernelTest : public ::testing::TestWithParam<simt::Order> {
 protected:
  TtmcKernelTest() {
    simt::reset();
    simt::set_order(GetParam());
  }
};

EmulatedOptions with_columns(std::vector<int> columns, Precision precision = Precision::f64) {
  return {.columns = std::move(columns), .precision = precision};
}

std::vector<std::uint64_t> short_shape(std::size_t order) {
  const std::vector<std::uint64_t> lengths{19, 7, 60, 5, 12, 3};
  return {lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(order)};
}

TEST_P(TtmcKernelTest, ComputesEveryOrderAndRank) {
  for (const std::size_t order : {3U, 4U, 5U}) {
    const CooTensor tensor = random_tensor({.shape = short_shape(order), .nnz = 400, .seed = order});
    for (const int rank : {1, 3, 8, 16}) {
      if (order == 5 && rank == 16) continue;  // 65,536 columns: below
      expect_every_ttmc(tensor, 300, with_columns(std::vector<int>(order, rank)));
    }
  }
}

TEST_P(TtmcKernelTest, ComputesTensOfThousandsOfColumns) {
  const CooTensor tensor = random_tensor({.shape = {4, 3, 5, 3, 4}, .nnz = 40, .seed = 1});

  expect_every_ttmc(tensor, 300, with_columns(std::vector<int>(5, 16)));
}

// Every kernel, the last group of lanes and the last block of the middle matrix full or not.
TEST_P(TtmcKernelTest, ComputesColumnsThatDiffer) {
  const CooTensor tensor = random_tensor({.shape = {40, 31, 57}, .nnz = 500, .seed = 2});
  const std::vector<std::vector<int>> columns{{16, 3, 1},  {1, 16, 3},  {2, 5, 4},    {7, 9, 6},   {8, 24, 8},
                                              {32, 8, 16}, {33, 4, 17}, {64, 16, 40}, {10, 1, 20}, {5, 40, 2}};

  for (const std::vector<int>& of : columns) expect_every_ttmc(tensor, 400, with_columns(of));
}

TEST_P(TtmcKernelTest, ComputesColumnsThatDifferInManyModes) {
  expect_every_ttmc(random_tensor({.shape = short_shape(4), .nnz = 400, .seed = 3}), 300, with_columns({5, 3, 4, 20}));
  expect_every_ttmc(random_tensor({.shape = short_shape(5), .nnz = 400, .seed = 3}), 300,
                    with_columns({2, 3, 4, 1, 2}));
  expect_every_ttmc(random_tensor({.shape = short_shape(6), .nnz = 400, .seed = 3}), 300,
                    with_columns({2, 3, 1, 4, 2, 3}));
}

TEST_P(TtmcKernelTest, RoundsWhatThePrecisionRounds) {
  const CooTensor tensor = random_tensor({.shape = short_shape(4), .nnz = 500, .seed = 4});

  for (const Precision precision : {Precision::f32, Precision::mixed}) {
    for (const std::vector<int>& columns : {std::vector<int>{8, 8, 8, 8}, {16, 8, 8, 32}, {3, 1, 5, 20}}) {
      expect_every_ttmc(tensor, 400, with_columns(columns, precision));
    }
  }
}

// Long segments, slices without nonzeros, and rows that few or many warps add to.
TEST_P(TtmcKernelTest, ComputesSkewedTensorsAndEmptySlices) {
  for (const double skew : {1.0, 3.0, 12.0}) {
    expect_every_ttmc(random_tensor({.shape = {2, 900, 400}, .nnz = 1500, .seed = 5, .skew = skew}), 1000,
                      with_columns({8, 8, 8}));
    expect_every_ttmc(random_tensor({.shape = {700, 3, 50}, .nnz = 1500, .seed = 6, .skew = skew}), 600,
                      with_columns({4, 3, 5}));
  }
}

TEST_P(TtmcKernelTest, ComputesLinesOfMoreThan64Bits) {
  for (const double skew : {40.0, 1.0}) {
    expect_every_ttmc(random_tensor({.shape = {8192, 8000, 5000, 8191, 4097}, .nnz = 600, .seed = 7, .skew = skew}),
                      500, with_columns({2, 3, 1, 2, 3}));
  }
}

TEST_P(TtmcKernelTest, ComputesChunksAstrideAWarpAndAFrame) {
  for (const std::uint64_t nnz : {1, 31, 33, 255, 256, 257, 513}) {
    const CooTensor tensor = random_tensor({.shape = {97, 33, 65}, .nnz = nnz, .seed = 8});
    expect_every_ttmc(tensor, nnz, with_columns({8, 8, 8}));
    expect_every_ttmc(tensor, nnz, with_columns({3, 2, 5}));
  }
}

TEST_P(TtmcKernelTest, TakesManyFramesPerWarp) {
  EmulatedOptions options = with_columns({8, 3, 8});
  options.narrow = true;

  expect_every_ttmc(random_tensor({.shape = {90, 70, 80}, .nnz = 5000, .seed = 9}), 4000, options);
}

INSTANTIATE_TEST_SUITE_P(EveryOrder, TtmcKernelTest,
                         ::testing::Values(simt::Order::forward, simt::Order::reverse, simt::Order::shuffled),
                         [](const auto& which) { return name_of(which.param); });

class TtmcSchedule : public EverySchedule {};

// Chunks that stay on the device, that stay packed in pinned memory, and that are streamed; modes take turns.
TEST_P(TtmcSchedule, ComputesChunksOfEveryTier) {
  const EmulatedOptions options{.columns = {3, 8, 8}};
  const auto factors = ttmc_factors(tensor_.shape, options);
  EmulatedBackend device(tensor_.shape, options);
  device.load(factors);
  std::vector<std::unique_ptr<HostBuffer>> pinned;
  std::vector<ResidentId> residents;
  for (std::size_t c = 0; c < chunks_.size(); ++c) {
    if (c % 3 == 1) {
      const auto [slot, view] = device.stage_next(chunks_[c]);
      residents.push_back(device->keep(slot, view, Tier::device));
    } else if (c % 3 == 2) {
      pinned.push_back(device->allocate_host(payload_bytes(chunks_[c])));
      residents.push_back(device->keep(0, stage(chunks_[c], pinned.back()->bytes()), Tier::packed));
    }
  }

  for (const int mode : {0, 1, 2, 1}) {
    device->begin_pass({mode, Product::kronecker});
    for (std::size_t c = 0; c < chunks_.size(); c += 3) {
      const auto [slot, view] = device.stage_next(chunks_[c]);
      device->submit(slot, view);
    }
    for (const ResidentId resident : residents) device->submit_resident(resident);
    device->finish_pass();

    EXPECT_THAT(device.output(mode), RowsNear(expected_ttmc(tensor_, options, factors, mode), backend_tolerance))
        << "mode " << mode;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryPolicy, TtmcSchedule, ::testing::ValuesIn(schedules), name_of_schedule);

// The plan counts every byte that the backend allocates, and the largest output is that of no longest mode.
TEST(TtmcBackend, TakesTheMemoryThatIsPlanned) {
  SKIP_ON_HARDWARE();
  simt::reset();
  const std::vector<std::uint64_t> shape{40, 3, 57};
  for (const Precision precision : {Precision::f64, Precision::f32, Precision::mixed}) {
    const EmulatedOptions options{.columns = {2, 3, 16}, .precision = precision};
    const BackendConfig config = emulated_config(shape, options);
    const std::uint64_t output_bytes = 40 * 3 * 16 * output_number_bytes(precision);
    BackendConfig wide = config;
    wide.columns = {2, 6, 16};

    const EmulatedBackend backend(shape, options);

    EXPECT_LE(simt::counters().live_bytes, cuda_backend_memory(config, small_device()).bytes() + config.resident_bytes);
    // Another output as large, and 3 more columns of a factor of 3 rows.
    EXPECT_NEAR(static_cast<double>(cuda_backend_memory(wide, small_device()).bytes()),
                static_cast<double>(cuda_backend_memory(config, small_device()).bytes() + output_bytes), 1024);
  }
}

TEST(TtmcBackend, HasNoOtherPassesAndThreeModesOrMore) {
  simt::reset();
  EmulatedBackend equal(std::vector<std::uint64_t>{3, 4, 5}, {.rank = 3});
  EmulatedBackend differing(std::vector<std::uint64_t>{3, 4, 5}, {.columns = {2, 3, 2}});

  EXPECT_THROW(equal->begin_pass({0, Product::kronecker}), Error);
  EXPECT_THROW(differing->begin_pass(0), Error);
  EXPECT_THROW(EmulatedBackend(std::vector<std::uint64_t>{3, 4}, {.columns = {2, 3}}), Error);
}

}  // namespace
}  // namespace blco::testing
