// Under ThreadSanitizer, which ends the program with an error where it saw a race: every kernel, and the streams of the
// backend, in one order of threads. Pairs of order, rank, conflict resolution, precision and kind of tensor, not all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/kernels/rows_near.hpp"
#include "tests/simt/device_loss_cases.hpp"
#include "tests/simt/emulated_backend.hpp"
#include "tests/simt/simt_control.hpp"
#include "tests/simt/ttmc_cases.hpp"

namespace blco::testing {
namespace {

static_assert(simt::finds_races);

struct RaceCase {
  std::vector<std::uint64_t> shape;
  int rank;
  ConflictResolution conflict_resolution;
  Precision precision;
  std::uint64_t chunk_nnz;
  Values values;
};

std::string name(const RaceCase& chosen) {
  return "order" + std::to_string(chosen.shape.size()) + "_rank" + std::to_string(chosen.rank) +
         (chosen.conflict_resolution == ConflictResolution::hierarchical ? "_hierarchical" : "_register") +
         (chosen.precision == Precision::f64   ? "_f64"
          : chosen.precision == Precision::f32 ? "_f32"
                                               : "_mixed");
}

void PrintTo(const RaceCase& chosen, std::ostream* out) { *out << name(chosen); }

class EveryPair : public ::testing::TestWithParam<RaceCase> {
 protected:
  EveryPair() {
    simt::reset();
    simt::set_order(simt::Order::shuffled, 3);
    simt::set_policy(simt::Policy::shuffled, 4);
    options_.rank = GetParam().rank;
    options_.conflict_resolution = GetParam().conflict_resolution;
    options_.precision = GetParam().precision;
  }

  double tolerance() const { return GetParam().precision == Precision::f64 ? 1e-12 : 1e-5; }

  CooTensor tensor_ =
      random_tensor({.shape = GetParam().shape, .nnz = 900, .seed = 2, .values = GetParam().values, .skew = 2});
  std::vector<std::vector<double>> factors_ = random_factors(tensor_.shape, GetParam().rank, 11);
  std::vector<EncodedChunk> chunks_ = encode(tensor_, GetParam().chunk_nnz);
  EmulatedOptions options_;
};

TEST_P(EveryPair, ComputesAndUpdatesWithoutRaces) {
  const int rank = GetParam().rank;
  EmulatedBackend device(tensor_.shape, options_);
  device.load(factors_);
  const auto expected = coordinate_mttkrp(tensor_, factors_, rank, 0);

  EXPECT_THAT(device.pass(chunks_, 0), RowsNear(expected, tolerance()));

  const auto entries = static_cast<std::size_t>(rank) * static_cast<std::size_t>(rank);
  std::vector<double> diagonal(entries);
  for (std::size_t i = 0; i < entries; i += static_cast<std::size_t>(rank) + 1) diagonal[i] = 2;
  for (const double entry : {2.0, 0.0}) {  // by Cholesky; singular: by the pseudo-inverse
    diagonal[0] = entry;
    device->update_rows(0, RowSolver(diagonal, rank));
    EXPECT_EQ(device->gram(0).size(), entries);
  }
}
TEST_P(EveryPair, WeighsForAllOneOrNoOutputWithoutRaces) {
  const std::vector<PassRequest> requests{{poisson_function(), all_modes(static_cast<int>(tensor_.order()))},
                                          {poisson_function(), mode_bit(0)},
                                          {poisson_function(), 0}};

  expect_loss_passes(tensor_, GetParam().chunk_nnz, options_, requests, "races");
}

INSTANTIATE_TEST_SUITE_P(
    KernelRaces, EveryPair,
    ::testing::Values(
        RaceCase{{300}, 16, ConflictResolution::hierarchical, Precision::f64, 300, Values::counts},
        RaceCase{{300}, 33, ConflictResolution::register_based, Precision::f32, 1000, Values::ones},
        RaceCase{{3, 400, 2}, 1, ConflictResolution::hierarchical, Precision::f32, 300, Values::uniform},
        RaceCase{{3, 400, 2}, 7, ConflictResolution::register_based, Precision::f64, 1000, Values::counts},
        RaceCase{{40, 31, 57}, 100, ConflictResolution::hierarchical, Precision::f64, 1000, Values::ones},
        RaceCase{{40, 31, 57}, 64, ConflictResolution::register_based, Precision::f32, 300, Values::counts},
        RaceCase{{19, 7, 300, 5}, 32, ConflictResolution::hierarchical, Precision::f64, 1000, Values::uniform},
        RaceCase{{19, 7, 300, 5}, 8, ConflictResolution::register_based, Precision::f64, 300, Values::ones},
        RaceCase{{30, 8192, 8000, 5000, 8191, 4097},
                 24,
                 ConflictResolution::hierarchical,
                 Precision::f32,
                 1000,
                 Values::counts},
        RaceCase{{30, 8192, 8000, 5000, 8191, 4097},
                 48,
                 ConflictResolution::register_based,
                 Precision::f64,
                 300,
                 Values::uniform},
        RaceCase{{40, 31, 57}, 32, ConflictResolution::register_based, Precision::mixed, 300, Values::uniform},
        RaceCase{{40, 31, 57}, 16, ConflictResolution::register_based, Precision::f64, 300, Values::counts},
        RaceCase{{19, 7, 300, 5}, 32, ConflictResolution::register_based, Precision::f64, 1000, Values::uniform},
        RaceCase{{19, 7, 300, 5}, 16, ConflictResolution::register_based, Precision::f32, 1000, Values::counts},
        RaceCase{{40, 31, 57}, 64, ConflictResolution::register_based, Precision::f64, 300, Values::ones},
        RaceCase{{8192, 8000, 5000, 8191, 4097},
                 16,
                 ConflictResolution::register_based,
                 Precision::f64,
                 300,
                 Values::counts},
        RaceCase{{8192, 8000, 5000, 8191, 4097},
                 32,
                 ConflictResolution::register_based,
                 Precision::f64,
                 1000,
                 Values::uniform},
        RaceCase{std::vector<std::uint64_t>(8, 1500), 3, ConflictResolution::hierarchical, Precision::f64, 300,
                 Values::ones},
        RaceCase{std::vector<std::uint64_t>(8, 1500), 16, ConflictResolution::register_based, Precision::f32, 1000,
                 Values::uniform}),
    [](const auto& which) { return name(which.param); });

TEST(LossRaces, AreNotBetweenFramesOfAWarp) {
  simt::reset();
  for (const int order : {3, 4, 5}) {
    const std::vector<std::uint64_t> shape{40, 31, 57, 8, 9};
    const CooTensor tensor = random_tensor(
        {.shape = {shape.begin(), shape.begin() + order}, .nnz = 2600, .seed = 3, .values = Values::counts});
    const EmulatedOptions options{.rank = 16, .narrow = true};
    expect_loss_passes(tensor, 2600, options, {{{poisson_function(), all_modes(order)}}}, "races between frames");
  }
}

TEST(TtmcRaces, AreNotBetweenLanesOfAWarpAndWarpsThatAdd) {
  simt::reset();
  simt::set_order(simt::Order::shuffled, 3);
  simt::set_policy(simt::Policy::shuffled, 4);
  for (const Precision precision : {Precision::f64, Precision::f32, Precision::mixed}) {
    for (const std::vector<int>& columns : {std::vector<int>{8, 8, 8}, {3, 2, 16}, {16, 8, 32}, {2, 1, 3}}) {
      const CooTensor tensor = random_tensor({.shape = {40, 3, 57}, .nnz = 900, .seed = 2, .skew = 2});
      expect_every_ttmc(tensor, 300, {.columns = columns, .precision = precision});
    }
    const CooTensor deep = random_tensor({.shape = {19, 7, 30, 5, 12}, .nnz = 2600, .seed = 3});
    expect_every_ttmc(deep, 2600, {.columns = {2, 3, 8, 1, 8}, .precision = precision, .narrow = true});
  }
}

// Each policy with chunks that are streamed, kept on the device, and kept packed.
TEST(StreamRaces, AreNotBetweenLanesAndResidents) {
  for (const simt::Policy policy : {simt::Policy::eager, simt::Policy::lazy, simt::Policy::shuffled}) {
    simt::reset();
    simt::set_policy(policy, 5);
    const auto tensor = random_tensor({.shape = {40, 31, 57}, .nnz = 1500, .seed = 2});
    const auto factors = random_factors(tensor.shape, 5, 11);
    const auto chunks = encode(tensor, 200);
    const EmulatedOptions options{.rank = 5, .slots = 2, .all_outputs = true};
    EmulatedBackend device(tensor.shape, options);
    device.load(factors);
    LossReference reference(chunks, tensor.shape, options, factors);
    std::vector<std::unique_ptr<HostBuffer>> kept;
    std::vector<std::optional<ResidentId>> residents(chunks.size());

    const PassRequest loss_pass({.loss = {LossKind::gaussian}}, all_modes(3));
    for (const PassRequest& request : {PassRequest(0), loss_pass, PassRequest(2), loss_pass}) {
      device->begin_pass(request);
      for (std::size_t c = 0; c < chunks.size(); ++c) {
        if (!residents[c] && c % 3 == 1) {
          const auto [lane, view] = device.stage_next(chunks[c]);
          residents[c] = device->keep(lane, view, Tier::device);
        } else if (!residents[c] && c % 3 == 2) {
          kept.push_back(device->allocate_host(payload_bytes(chunks[c])));
          residents[c] = device->keep(0, stage(chunks[c], kept.back()->bytes()), Tier::packed);
        }
        if (residents[c]) {
          device->submit_resident(*residents[c]);
        } else {
          const auto [lane, view] = device.stage_next(chunks[c]);
          device->submit(lane, view);
        }
      }
      device->finish_pass();

      reference.run(request);
      reference.expect_same(device, request, tensor.shape, 5, 1e-11, "streams");
    }
  }
}

}  // namespace
}  // namespace blco::testing
