// What only the host backend promises of its passes: the same bits whatever the chunks' tier and the threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "blco/error.hpp"
#include "kernels/highway_targets.hpp"
#include "tests/kernels/loss_cases.hpp"
#include "tests/random_tensor.hpp"
// After the limits on targets:
#include <hwy/targets.h>

namespace blco::testing {
namespace {

TEST(HostLossPass, GivesTheSameBitsFromResidentsForOneOutputAndForAll) {
  const auto all = all_modes(3);
  const auto tensor = random_tensor({.shape = {50, 300, 70}, .nnz = 9000, .seed = 1, .values = Values::counts});
  const auto chunks = encode(tensor, 4000);
  for (const int rank : {5, 16, 40}) {
    LossBackend backend({1, Precision::f64}, {.shape = tensor.shape, .rank = rank, .arranged_bytes = 1 << 30});
    backend.load(positive_factors(tensor.shape, rank, 2));
    const EntryFunction function = poisson_given().function;
    backend.pass(chunks, {function, all});
    const auto streamed = backend.results(all);

    for (const Tier tier : {Tier::packed, Tier::decoded}) {
      std::vector<ResidentId> residents;
      for (const EncodedChunk& chunk : chunks) residents.push_back(backend->keep(0, chunk.view(), tier));
      const auto pass = [&](const PassRequest& request) {
        backend->begin_pass(request);
        for (const ResidentId resident : residents) backend->submit_resident(resident);
        backend->finish_pass();
      };
      // Passes after which chunks are sorted; then sums in line order all the same.
      for (int i = 0; i < 10; ++i) pass(0);
      pass({function, all});
      EXPECT_EQ(backend.results(all), streamed);
      for (int mode = 0; mode < 3; ++mode) {
        pass({function, mode_bit(mode)});
        EXPECT_EQ(backend->sum_of_terms(), streamed[0][0]);
        EXPECT_EQ(backend.output(mode), streamed[static_cast<std::size_t>(mode) + 1]);
      }
    }
  }
}

TEST(HostLossPass, GivesTheSameBitsOnAnyThreadsWithoutPrivateRows) {
  // More frames than have weights at once.
  for (const auto& shape : {std::vector<std::uint64_t>{3000, 300, 700}, std::vector<std::uint64_t>(9, 250)}) {
    const auto tensor = random_tensor({.shape = shape, .nnz = 300'000, .seed = 1, .values = Values::counts});
    const auto chunks = encode(tensor, 290'000);
    const ModeSet all = all_modes(static_cast<int>(shape.size()));
    const auto run = [&](int threads) {
      LossBackend backend({threads, Precision::f64}, {.shape = shape, .rank = 2, .private_bytes = 0});
      backend.load(positive_factors(shape, 2, 2));
      backend.pass(chunks, {poisson_given().function, all});
      return backend.results(all);
    };
    const auto alone = run(1);

    EXPECT_EQ(run(2), alone);
    EXPECT_EQ(run(3), alone);
  }
}

TEST(HostLossPass, ComputesTheSameOnEveryInstructionSet) {
  const auto all = all_modes(3);
  const auto tensor = random_tensor({.shape = {40, 31, 57}, .nnz = 1000, .seed = 2, .values = Values::counts});
  const auto chunks = encode(tensor, 700);
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::GetChosenTarget().Update(target);
    for (const int rank : {1, 3, 4, 7, 16, 24, 40}) {
      for (const Precision precision : {Precision::f64, Precision::f32, Precision::mixed}) {
        const BackendCase which{2, precision};
        const auto factors = which.held(positive_factors(tensor.shape, rank, 11));
        const double tolerance = precision == Precision::f32 ? 1e-4 : 1e-11;
        LossBackend backend(which, {.shape = tensor.shape, .rank = rank});
        backend.load(factors);

        backend.pass(chunks, {poisson_given().function, all});

        const LossSums expected = expected_sums(tensor, factors, rank, poisson_given());
        EXPECT_NEAR(backend->sum_of_terms(), static_cast<double>(expected.sum),
                    tolerance * static_cast<double>(expected.sum_size));
        for (int mode = 0; mode < 3; ++mode) {
          EXPECT_THAT(backend.output(mode), RowsNear(expected.outputs[static_cast<std::size_t>(mode)], tolerance))
              << "rank " << rank << " on " << hwy::TargetName(target);
        }
      }
    }
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(HostLossPass, AddsTheSameTermsOnAnyThreads) {
  const auto tensor = random_tensor({.shape = {30, 40, 25}, .nnz = 9000, .seed = 6, .values = Values::counts});
  const auto run = [&](int threads) {
    LossBackend backend({threads, Precision::f64}, {.shape = tensor.shape});
    backend.load(positive_factors(tensor.shape, 5, 2));
    backend.pass(encode(tensor, 4000), {poisson_given().function, all_modes(3)});
    return backend->sum_of_terms();
  };

  EXPECT_EQ(run(2), run(1));
  EXPECT_EQ(run(3), run(1));
}

TEST(HostLossPass, RefusesOutputsThatItDoesNotHave) {
  const EntryFunction function = poisson_given().function;
  LossBackend one({1, Precision::f64}, {.shape = {4, 5}, .all_outputs = false});
  LossBackend all({1, Precision::f64}, {.shape = {4, 5}});

  EXPECT_THROW(one->begin_pass({function, all_modes(2)}), Error);
  EXPECT_THROW(all->begin_pass({function, mode_bit(2)}), Error);
  all->begin_pass({function, mode_bit(1)});
  PassRequest other(function, mode_bit(0));
  other.continues = true;
  EXPECT_THROW(all->begin_pass(other), Error);
  EXPECT_THROW(all.output(0), Error);
}

}  // namespace
}  // namespace blco::testing
