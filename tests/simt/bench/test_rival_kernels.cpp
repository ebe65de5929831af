// The kernels of rivals in the emulator, in three thread orders, against a loop over coordinates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "blco/error.hpp"
#include "tests/simt/bench/device_rivals.hpp"
#include "tests/simt/simt_control.hpp"

namespace blco::testing {
namespace {

CooTensor tensor_of_shape(std::vector<std::uint64_t> shape, std::uint64_t nnz, double skew = 1) {
  return random_tensor({.shape = std::move(shape), .nnz = nnz, .seed = 3, .skew = skew});
}

class RivalKernelTest : public ::testing::TestWithParam<simt::Order> {
 protected:
  RivalKernelTest() {
    simt::reset();
    simt::set_order(GetParam());
  }
};

TEST_P(RivalKernelTest, ComputeEveryModeOfOrdersThreeToFive) {
  for (const auto& shape : {std::vector<std::uint64_t>{13, 9, 40}, {11, 3, 20, 6}, {5, 7, 4, 9, 3}}) {
    const CooTensor tensor = tensor_of_shape(shape, 260);
    for (const int rank : {1, 16, 17, 33}) {
      const DeviceRivalCase given(tensor, rank);
      for (const Precision precision : {Precision::f64, Precision::f32}) expect_every_kind(given, precision);
    }
  }
}

TEST_P(RivalKernelTest, ComputeOrdersWithoutKernelsOfTheirOwn) {
  for (const auto& shape : {std::vector<std::uint64_t>{30, 25}, {4, 3, 5, 2, 6, 3}, {3, 2, 4, 3, 2, 3, 2, 5}}) {
    const CooTensor tensor = tensor_of_shape(shape, 200);
    for (const int rank : {3, 40}) expect_every_kind({tensor, rank}, Precision::f64);
  }
}

TEST_P(RivalKernelTest, ComputeRanksOfSeveralRounds) {
  const CooTensor tensor = tensor_of_shape({13, 9, 40}, 150);

  for (const int rank : {2, 7, 50, 64, 97, 140}) expect_every_kind({tensor, rank}, Precision::f64);
}

// Slices of more than 1024 nonzeros have blocks of their own.
TEST_P(RivalKernelTest, ComputeGiantSlicesInParts) {
  for (const auto& shape : {std::vector<std::uint64_t>{2, 40, 60}, {2, 6, 9, 60}, {1, 3, 4, 12, 30}}) {
    expect_every_kind({tensor_of_shape(shape, 2600), 5}, Precision::f64);
  }
}

TEST_P(RivalKernelTest, ComputeSkewedSlicesAndFibers) {
  const RivalKnobs narrow{.fiber_limit = 5, .block_threads = 64};

  for (const auto& shape : {std::vector<std::uint64_t>{60, 50, 70}, {30, 40, 20, 50}}) {
    const DeviceRivalCase given(tensor_of_shape(shape, 1500, 4), 4);
    expect_every_kind(given, Precision::f64);
    expect_every_kind(given, Precision::f64, narrow);
  }
}

// Most slices are empty, and most others have one nonzero, or several fibers of one.
TEST_P(RivalKernelTest, ComputeSingletonAndEmptySlices) {
  for (const auto& shape : {std::vector<std::uint64_t>{300, 200, 400}, {90, 80, 200, 300}}) {
    expect_every_kind({tensor_of_shape(shape, 150), 9}, Precision::f64);
  }
}

// A list of 1200 nonzeros in one slice, each a fiber of its own.
TEST_P(RivalKernelTest, ComputeAGiantSliceOfSingletonFibers) {
  CooTensor tensor{{2, 1200, 1300}, {}, {}};
  for (std::uint64_t i = 0; i < 1200; ++i) {
    tensor.coordinates.insert(tensor.coordinates.end(), {1, i, i * i % 7});
    tensor.values.push_back(static_cast<double>(i % 5) - 1.5);
  }
  const DeviceRivalCase given(tensor, 5);

  EXPECT_EQ(device_rival(RivalKind::hb_csf, given.tensor, 5)->parts().front().format, "csl");
  for (const int block_threads : {32, 512}) {
    expect_device_rows(RivalKind::hb_csf, given, Precision::f64, {.block_threads = block_threads});
  }
}

TEST_P(RivalKernelTest, ComputeOneNonzeroAndNone) {
  const std::vector<std::uint64_t> shape{3, 4, 2};

  for (const std::uint64_t nnz : {1, 0}) expect_every_kind({tensor_of_shape(shape, nnz), 6}, Precision::f64);
}

TEST_P(RivalKernelTest, ComputeSegmentsThatCrossBlocks) {
  const DeviceRivalCase given(tensor_of_shape({2, 30, 50}, 1400), 3);

  for (const int thread_nonzeros : {1, 7, 8, 64}) {
    for (const int block_threads : {32, 128, 1024}) {
      expect_device_rows(RivalKind::fcoo, given, Precision::f64,
                         {.thread_nonzeros = thread_nonzeros, .block_threads = block_threads});
    }
  }
}

TEST_P(RivalKernelTest, ComputeWithTeamsOfAnySize) {
  for (const auto& shape : {std::vector<std::uint64_t>{6, 20, 50}, {7, 8, 9, 10}}) {
    const DeviceRivalCase given(tensor_of_shape(shape, 700, 2), 6);
    for (const int warps_per_fiber : {1, 2, 16}) {
      for (const int block_threads : {128, 512}) {
        RivalKnobs knobs{.every_leaf = block_threads == 128, .block_threads = block_threads};
        knobs.warps_per_fiber = warps_per_fiber;
        expect_device_rows(RivalKind::mm_csf, given, Precision::f64, knobs);
      }
    }
  }
}

TEST_P(RivalKernelTest, WaitForStreamsOfAnyPolicy) {
  const DeviceRivalCase given(tensor_of_shape({13, 9, 40}, 100), 4);

  for (const simt::Policy policy : {simt::Policy::eager, simt::Policy::lazy, simt::Policy::shuffled}) {
    simt::set_policy(policy, 5);
    expect_every_kind(given, Precision::f32);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryOrder, RivalKernelTest,
                         ::testing::Values(simt::Order::forward, simt::Order::reverse, simt::Order::shuffled),
                         [](const auto& which) { return name_of(which.param); });

class DeviceRivalTest : public ::testing::Test {
 protected:
  DeviceRivalTest() { simt::reset(); }
};

TEST_F(DeviceRivalTest, ComputesWithTheFactorsOfASibling) {
  const DeviceRivalCase given(tensor_of_shape({13, 9, 40}, 200), 6);
  ThreadExecutor executor(1);
  const auto first = device_rival(RivalKind::b_csf, given.tensor, given.rank);
  for (int n = 0; n < 3; ++n) first->load_factor(n, given.factors[static_cast<std::size_t>(n)]);
  const RivalOptions options{.rank = given.rank, .on_device = true, .sibling = first.get()};
  const auto second = make_device_rival(RivalKind::fcoo, given.tensor.view(), options, executor);

  second->mttkrp(1);

  std::vector<double> rows(given.expected[1].rows.size());
  second->read_output(rows);
  EXPECT_THAT(rows, RowsNear(given.expected[1], 1e-12));
}

// Words of figure 4's tensor, counted by hand: 12 nonzeros, 4 slices and 8 fibers in the order of modes 1, 2, 3.
TEST_F(DeviceRivalTest, StoresWhatTheFormatsStore) {
  const NaturalTensor tensor = tensor_of_figure_4();
  RivalKnobs by_four;
  by_four.thread_nonzeros = 4;

  const RivalStorage coo = device_rival(RivalKind::coo_perm, tensor, 2)->storage();
  const RivalStorage fcoo = device_rival(RivalKind::fcoo, tensor, 2, Precision::f32, by_four)->storage();
  const RivalStorage csf = device_rival(RivalKind::csf_one, tensor, 2)->storage();

  EXPECT_EQ(coo.index_bytes, 4 * 3 * 12U);
  EXPECT_EQ(coo.auxiliary_bytes, 4 * 3 * 12U);
  EXPECT_EQ(coo.value_bytes, 8 * 12U);
  EXPECT_EQ(fcoo.index_bytes, 3 * (2 * 4 * 12 + 2 + 1U));
  EXPECT_EQ(fcoo.value_bytes, 3 * 4 * 12U);
  EXPECT_EQ(fcoo.copies, 3);
  EXPECT_EQ(csf.index_bytes, 4 * 36U);
  EXPECT_EQ(csf.copies, 1);
}

// Flops of SC 2019, for a tree of 4 slices, 8 fibers and 12 nonzeros, into each of its levels.
TEST_F(DeviceRivalTest, CountsWhatTheTreesDo) {
  constexpr int rank = 2;
  const auto rival = device_rival(RivalKind::csf_one, tensor_of_figure_4(), rank);

  EXPECT_EQ(rival->work(0).flops, (4 + 2 * 8 + 2 * 12) * rank);
  EXPECT_EQ(rival->work(1).flops, 2 * (8 + 12) * rank);
  EXPECT_EQ(rival->work(2).flops, 3 * 12 * rank);
}

TEST_F(DeviceRivalTest, RefusesBlocksThatNoKernelHas) {
  const NaturalTensor tensor = tensor_of_figure_4();

  for (const int block_threads : {0, 16, 96, 1024}) {
    RivalKnobs knobs;
    knobs.block_threads = block_threads;
    EXPECT_THROW(device_rival(RivalKind::b_csf, tensor, 2, Precision::f64, knobs), Error) << block_threads;
  }
}

}  // namespace
}  // namespace blco::testing
