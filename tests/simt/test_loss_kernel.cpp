// The loss pass in the emulator, in three thread orders, against the serial reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "blco/error.hpp"
#include "tests/simt/device_loss_cases.hpp"
#include "tests/simt/simt_control.hpp"

namespace blco::testing {
namespace {

class LossPassTest : public ::testing::TestWithParam<std::tuple<simt::Order, ConflictResolution>> {
 protected:
  LossPassTest() {
    simt::reset();
    simt::set_order(std::get<0>(GetParam()));
  }

  EmulatedOptions with_rank(int rank, Precision precision = Precision::f64) const {
    return {.rank = rank, .precision = precision, .conflict_resolution = std::get<1>(GetParam())};
  }
};

CooTensor counts_of_order(std::size_t order, std::uint64_t nnz) {
  const std::vector<std::uint64_t> lengths{19, 3, 300, 5, 12, 40};
  return random_tensor({.shape = {lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(order)},
                        .nnz = nnz,
                        .seed = order,
                        .values = Values::counts});
}

std::vector<Loss> every_loss() {
  return {{LossKind::gaussian},       {LossKind::poisson},         {LossKind::poisson_log},
          {LossKind::bernoulli_odds}, {LossKind::bernoulli_logit}, {LossKind::gamma},
          {LossKind::rayleigh},       {LossKind::huber, 0.7},      {LossKind::beta, 1.5}};
}

TEST_P(LossPassTest, EqualsTheReferenceForEveryRuleAndLoss) {
  const CooTensor tensor = counts_of_order(3, 300);
  std::vector<PassRequest> requests;
  for (const EntryRule rule : {EntryRule::given, EntryRule::beyond_zero, EntryRule::zero}) {
    for (const Loss& loss : every_loss()) requests.emplace_back(EntryFunction{rule, loss, 1.5}, all_modes(3));
  }
  requests.emplace_back(EntryFunction{.rule = EntryRule::ratio, .floor = 1.25}, all_modes(3));
  requests.emplace_back(EntryFunction{.rule = EntryRule::model, .scale = -2}, all_modes(3));

  expect_loss_passes(tensor, 200, with_rank(5), requests, "every function");
}

TEST_P(LossPassTest, ComputesEveryOrderAndRank) {
  for (const std::size_t order : {1U, 2U, 3U, 4U, 5U, 6U}) {
    const CooTensor tensor = counts_of_order(order, 350);
    const int last = static_cast<int>(order) - 1;
    for (const int rank : {1, 3, 8, 16, 20, 40, 100}) {
      const std::vector<PassRequest> requests{
          {poisson_function(), all_modes(last + 1)}, {poisson_function(), mode_bit(last)}, {poisson_function(), 0}};
      expect_loss_passes(tensor, 300, with_rank(rank), requests, "all, one, none");
    }
  }
}

// Full frames, whose last shares are followed by gaps; and a chunk that ends in a frame of three entries.
TEST_P(LossPassTest, ComputesEveryShapeThatHasAKernelOfItsOwn) {
  for (const int order : {3, 4, 5}) {
    const CooTensor tensor = counts_of_order(static_cast<std::size_t>(order), 256 + 3 + 256);
    const std::vector<PassRequest> requests{{poisson_function(), all_modes(order)},
                                            {poisson_function(), mode_bit(order - 1)},
                                            {poisson_function(), mode_bit(0) | mode_bit(order - 1)},
                                            {poisson_function(), 0}};
    for (const int rank : {16, 32, 64}) {
      expect_loss_passes(tensor, 256 + 3, with_rank(rank), requests, "f64");
      for (const Precision precision : {Precision::f32, Precision::mixed}) {
        expect_loss_passes(tensor, 256 + 3, with_rank(rank, precision), std::span(requests).first(2), "less exact");
      }
    }
  }
}

// A warp decodes a frame where the tile of another was.
TEST_P(LossPassTest, TakesManyFramesPerWarp) {
  for (const int order : {3, 4, 5, 6}) {
    const CooTensor tensor = counts_of_order(static_cast<std::size_t>(order), 5000);
    const std::vector<PassRequest> requests{{poisson_function(), all_modes(order)}, {poisson_function(), mode_bit(1)}};
    for (const int rank : {16, 20, 32}) {
      EmulatedOptions options = with_rank(rank);
      options.narrow = true;
      expect_loss_passes(tensor, 4000, options, requests, "many frames");
    }
  }
}

TEST_P(LossPassTest, FillsAnyModes) {
  const CooTensor tensor = counts_of_order(4, 350);
  std::vector<PassRequest> requests;
  for (ModeSet modes = 0; modes <= all_modes(4); ++modes) requests.emplace_back(poisson_function(), modes);

  for (const int rank : {6, 16}) expect_loss_passes(tensor, 200, with_rank(rank), requests, "any modes");
}

TEST_P(LossPassTest, ComputesInEveryPrecision) {
  for (const Precision precision : {Precision::f32, Precision::mixed}) {
    for (const int rank : {2, 8, 16, 31, 64}) {
      const std::vector<PassRequest> requests{{poisson_function(), all_modes(3)}, {poisson_function(), mode_bit(1)}};
      expect_loss_passes(counts_of_order(3, 400), 300, with_rank(rank, precision), requests, "less exact");
    }
  }
}

TEST_P(LossPassTest, ComputesFramesAstrideAChangeOfKey) {
  const std::vector<std::vector<std::uint64_t>> shapes{{8192, 8000, 5000, 8191, 4097},
                                                       std::vector<std::uint64_t>(8, 1500)};
  for (const auto& shape : shapes) {
    for (const double skew : {40.0, 1.0}) {
      const int order = static_cast<int>(shape.size());
      const CooTensor tensor =
          random_tensor({.shape = shape, .nnz = 500, .seed = 4, .values = Values::counts, .skew = skew});
      const std::vector<PassRequest> requests{{poisson_function(), all_modes(order)}, {poisson_function(), 4}};
      for (const int rank : {5, 16}) expect_loss_passes(tensor, 400, with_rank(rank), requests, "keys");
    }
  }
}

TEST_P(LossPassTest, ComputesEveryKindOfValue) {
  const CooTensor counts = random_tensor({.shape = {50, 60, 70}, .nnz = 600, .seed = 5, .values = Values::counts});
  const PassRequest all(EntryFunction{.loss = {LossKind::gaussian}}, all_modes(3));
  for (const double scale : {1.0, -0.01, 0.5, 1.0 / 3}) {  // integer, decimal, f32 and f64 codecs
    CooTensor scaled = counts;
    for (double& value : scaled.values) value *= scale;
    scaled.values[7] *= 1e6;  // an exception of its frame
    expect_loss_passes(scaled, 400, with_rank(8), {{all}}, "codec of " + std::to_string(scale));
    expect_loss_passes(scaled, 400, with_rank(8, Precision::f32), {{all}}, "f32, codec of " + std::to_string(scale));
  }
  expect_loss_passes(random_tensor({.shape = {50, 60, 70}, .nnz = 600, .seed = 5, .values = Values::ones}), 400,
                     with_rank(8), {{all}}, "ones");
}

// Behind the end of a chunk the last nonzero is repeated with value 0, which counts for nothing, whatever f(0, m) is.
TEST_P(LossPassTest, ComputesChunksAstrideAWarpAndAFrame) {
  const std::vector<PassRequest> requests{{EntryFunction{.rule = EntryRule::model}, all_modes(3)},
                                          {EntryFunction{.rule = EntryRule::model}, mode_bit(2)}};
  for (const std::uint64_t nnz : {1, 31, 33, 255, 256, 257, 513}) {
    for (const int rank : {3, 16}) {
      expect_loss_passes(random_tensor({.shape = {97, 33, 65}, .nnz = nnz, .seed = 8}), nnz, with_rank(rank), requests,
                         "one chunk");
    }
  }
}

TEST_P(LossPassTest, ComputesModesOfLengthOne) {
  const std::vector<PassRequest> requests{{poisson_function(), all_modes(4)}, {poisson_function(), mode_bit(0)}};

  expect_loss_passes(random_tensor({.shape = {1, 30, 1, 20}, .nnz = 300, .values = Values::counts}), 200, with_rank(9),
                     requests, "modes of length 1");
}

TEST_P(LossPassTest, ContinuesAPassByAnother) {
  const std::vector<ModeSet> outputs{all_modes(3), mode_bit(1), 0};
  for (const ModeSet modes : outputs) {
    PassRequest more(EntryFunction{EntryRule::zero, {LossKind::bernoulli_logit}, -3}, modes);
    more.continues = true;
    const std::vector<PassRequest> requests{
        {poisson_function(), modes}, more, more, {poisson_function(), modes}, {poisson_function(), mode_bit(0)}};
    expect_loss_passes(counts_of_order(3, 400), 150, with_rank(7), requests, "continued");
  }
}

TEST_P(LossPassTest, TakesTurnsWithMttkrp) {
  const CooTensor tensor = counts_of_order(3, 400);
  const std::vector<PassRequest> requests{
      {poisson_function(), all_modes(3)}, PassRequest(1), {poisson_function(), all_modes(3)}, PassRequest(2)};

  expect_loss_passes(tensor, 300, with_rank(16), requests, "turns");
}

INSTANTIATE_TEST_SUITE_P(
    EveryOrder, LossPassTest,
    ::testing::Values(std::tuple(simt::Order::forward, ConflictResolution::automatic),
                      std::tuple(simt::Order::reverse, ConflictResolution::hierarchical),
                      std::tuple(simt::Order::shuffled, ConflictResolution::automatic),
                      std::tuple(simt::Order::shuffled, ConflictResolution::hierarchical)),
    [](const auto& which) {
      return name_of(std::get<0>(which.param)) +
             (std::get<1>(which.param) == ConflictResolution::automatic ? "_automatic" : "_hierarchical");
    });

}  // namespace
}  // namespace blco::testing
