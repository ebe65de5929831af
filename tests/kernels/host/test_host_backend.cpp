// What only the host backend promises: limits, memory figures, reproducible sums.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <vector>

#include "blco/error.hpp"
#include "kernels/device_kind.hpp"
#include "kernels/highway_targets.hpp"
#include "kernels/host/row_exchange.hpp"
#include "tests/kernels/backend_cases.hpp"
#include "tests/random_tensor.hpp"
// After the limits on targets:
#include <hwy/targets.h>

namespace blco::testing {
namespace {

BackendConfig config_of(std::vector<std::uint64_t> shape, int rank, Precision precision = Precision::f64) {
  return {TensorLayout(shape), rank, precision, 0};
}

TEST(HostBackend, RefusesAModeLongerThanItsRowNumbers) {
  SerialExecutor executor;

  EXPECT_THROW(host_kind().make(config_of({2, (std::uint64_t{1} << 32) + 1}, 1), executor), Error);
}

TEST(HostBackend, RefusesARankBelowOne) {
  SerialExecutor executor;

  EXPECT_THROW(host_kind().make(config_of({2, 3}, 0), executor), Error);
}

TEST(HostBackend, RefusesFactorsOfAnotherSize) {
  SerialExecutor executor;
  const auto backend = host_kind().make(config_of({2, 3}, 2), executor);

  EXPECT_THROW(backend->load_factor(0, 0, std::vector<double>(5)), Error);
}

TEST(HostBackend, RefusesToUpdateAModeOfAnotherPass) {
  SerialExecutor executor;
  const auto backend = host_kind().make(config_of({2, 3}, 1), executor);
  backend->begin_pass(0);
  backend->finish_pass();

  EXPECT_THROW(backend->update_rows(1, RowSolver(std::vector<double>{1.0}, 1)), Error);
}

TEST(HostBackend, GivesAlignedHostBuffers) {
  SerialExecutor executor;
  const auto backend = host_kind().make(config_of({2, 3}, 1), executor);

  const auto buffer = backend->allocate_host(1000);

  EXPECT_EQ(buffer->bytes().size(), 1000U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->bytes().data()) % 64, 0U);
}

TEST(HostBackend, NeedsNoPrivateCopiesForOneThread) {
  EXPECT_EQ(host_kind().useful_private_bytes(config_of({100, 1000}, 16), 1), 0U);
}

TEST(HostBackend, CountsPrivateCopiesOfTheLongestMode) {
  EXPECT_EQ(host_kind().useful_private_bytes(config_of({100, 1000}, 16), 3), 2U * 1000 * 16 * 8);
  EXPECT_EQ(host_kind().useful_private_bytes(config_of({100, 1000}, 9, Precision::f32), 2), 1000U * 16 * 4);
  EXPECT_EQ(host_kind().useful_private_bytes(config_of({100, 1000}, 9, Precision::mixed), 2), 1000U * 16 * 8);
}

// What the threads exchange, where rows have owners.
std::uint64_t exchange_bytes(const TensorLayout& layout, int threads) {
  ThreadExecutor executor(threads);
  return bytes_of<RowExchange>(layout, FrameDecoder(layout, BitExtraction::tables), executor);
}

TEST(HostBackend, CountsFactorsOutputAndPrivateCopies) {
  BackendConfig config = config_of({100'000, 200'000}, 13);
  const std::uint64_t matrices = (100'000 + 2 * 200'000) * 16 * 8;
  const std::uint64_t without = host_kind().footprint(config, 2).host.bytes();
  config.private_bytes = 5'000'000;
  const std::uint64_t with = host_kind().footprint(config, 2).host.bytes();
  config.private_bytes = std::uint64_t{1} << 40;
  const std::uint64_t with_all = host_kind().footprint(config, 2).host.bytes();

  EXPECT_GE(without, matrices);
  EXPECT_LE(without, matrices + (std::uint64_t{8} << 20));
  EXPECT_NEAR(static_cast<double>(with - without), 5e6, 4096);
  // With whole copies no row is left to one thread.
  EXPECT_EQ(with_all + exchange_bytes(config.layout, 2) - without, 200'000U * 16 * 8);
}

TEST(HostBackend, CountsWhatNoMachineHas) {
  BackendConfig config = config_of({std::uint64_t{1} << 32, std::uint64_t{1} << 31}, 1024);
  config.dual_modes = all_modes(2);
  const std::uint64_t rows = (std::uint64_t{1} << 32) + (std::uint64_t{1} << 31);
  const std::uint64_t matrices = 2 * rows + (std::uint64_t{1} << 32);

  const std::uint64_t counted = host_kind().footprint(config, 2).host.bytes();

  EXPECT_NEAR(static_cast<double>(counted), static_cast<double>(matrices * 1024 * 8), 2e9);
}

// Address space of this process.
std::uint64_t address_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t pages = 0;
  statm >> pages;
  return pages * page_bytes;
}

TEST(HostBackend, TakesWhatItCounts) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer takes memory of its own";
#endif
  std::vector<BackendConfig> configs;
  for (const Precision precision : {Precision::f64, Precision::f32, Precision::mixed}) {
    BackendConfig config = config_of({200'000, 300'000, 100'000}, 23, precision);
    configs.push_back(config);
    config.private_bytes = 30'000'000;
    configs.push_back(config);
    config.private_bytes = std::uint64_t{1} << 40;
    config.keep_previous = true;
    configs.push_back(config);
    config.dual_modes = mode_bit(2);
    configs.push_back(config);
    config.all_outputs = true;
    configs.push_back(config);
    config = config_of({200'000, 300'000, 100'000}, 5, precision);
    config.columns = {3, 5, 4};
    configs.push_back(config);
  }
  for (const BackendConfig& config : configs) {
    for (const int threads : {1, 2, 3}) {
      ThreadExecutor executor(threads);
      const std::uint64_t counted = host_kind().footprint(config, threads).host.bytes();

      const std::uint64_t before = address_bytes();
      const auto backend = host_kind().make(config, executor);
      const std::uint64_t taken = address_bytes() - before;

      // Objects are counted as 1 MiB, and short lists, for which the allocator may have pages already; and Gram
      // matrices, which a pass makes.
      const auto rank = static_cast<std::uint64_t>(config.rank);
      constexpr std::uint64_t of_allocator = 256 << 10;
      const std::uint64_t spare = (std::uint64_t{1} << 20) + of_allocator + 3 * rank * rank * sizeof(double);
      EXPECT_LE(taken, counted);
      EXPECT_GE(taken + spare, counted);
    }
  }
}

TEST(HostBackend, CountsMixedFactorsAtHalfOfDoubleAndTheOutputWhole) {
  const std::uint64_t factors = (100'000 + 200'000) * 24 * 8;

  const std::uint64_t wide = host_kind().footprint(config_of({100'000, 200'000}, 17), 2).host.bytes();
  const std::uint64_t mixed =
      host_kind().footprint(config_of({100'000, 200'000}, 17, Precision::mixed), 2).host.bytes();

  EXPECT_NEAR(static_cast<double>(wide - mixed), static_cast<double>(factors / 2), 2 * 4096);
}

TEST(HostBackend, CountsDecodedChunks) {
  const std::uint64_t nnz = std::uint64_t{1} << 20;

  EXPECT_NEAR(
      static_cast<double>(host_kind().chunk_bytes({TensorLayout(std::vector<std::uint64_t>{100, 100})}, nnz, 0)),
      16.0 * static_cast<double>(nnz), 4096);
  EXPECT_NEAR(static_cast<double>(host_kind().chunk_bytes({TensorLayout(std::vector<std::uint64_t>(9, 250))}, nnz, 0)),
              24.0 * static_cast<double>(nnz), 4096);
}

TEST(HostBackend, RepeatsItsNumbersOnAnyThreadsWithPrivateCopies) {
  const auto tensor = random_tensor({.shape = {300, 50, 70}, .nnz = 9000, .seed = 1});
  const auto chunks = encode(tensor, 4000);
  const auto factors = random_factors(tensor.shape, 16, 2);
  for (const int threads : {1, 2, 3}) {
    const auto run = [&] {
      BackendUnderTest backend({threads, Precision::f64}, tensor.shape, 16);
      backend.load(factors);
      return backend.pass(chunks, 1);
    };

    EXPECT_EQ(run(), run()) << threads << " threads";
  }
}

TEST(HostBackend, GivesTheSameBitsFromPackedAndDecodedChunksOnOneThread) {
  // Short modes make runs of equal rows, which packed chunks add up in registers; the last shape has keys.
  const std::vector<std::vector<std::uint64_t>> shapes{{300, 50, 70}, {2, 3, 4000}, {8192, 8000, 5000, 8191, 4097}};
  for (const auto& shape : shapes) {
    const auto tensor = random_tensor({.shape = shape, .nnz = 5000, .seed = 1, .skew = 3.0});
    const auto chunks = encode(tensor, 2000);
    for (const int rank : {1, 5, 16, 33, 70}) {
      BackendUnderTest backend({1, Precision::f64}, shape, rank);
      backend.load(random_factors(shape, rank, 2));
      std::vector<ResidentId> decoded;
      for (const EncodedChunk& chunk : chunks) {
        decoded.push_back(backend->keep(0, chunk.view(), Tier::decoded));
      }
      for (int mode = 0; mode < static_cast<int>(shape.size()); ++mode) {
        EXPECT_EQ(backend.pass(chunks, mode), backend.resident_pass(decoded, mode)) << "mode " << mode << ", " << rank;
      }
    }
  }
}

TEST(HostBackend, RefusesToDecodeAheadACoordinateOutsideItsChunk) {
  const auto tensor = random_tensor({.shape = {64, 101, 32}, .nnz = 3000, .seed = 13});
  BackendUnderTest backend({2, Precision::f64}, tensor.shape, 5);
  EncodedChunk damaged = encode(tensor, 3000)[0];
  damaged.upper[1] = 50;

  EXPECT_THROW(backend->keep(0, damaged.view(), Tier::decoded), Error);
}

TEST(HostBackend, UpdatesRowsAlikeOnAnyNumberOfThreads) {
  // One nonzero a row: the MTTKRP is then the same on any number of threads, and the rest must be.
  CooTensor tensor{{5000, 3}, {}, {}};
  for (std::uint64_t row = 0; row < 5000; ++row) {
    tensor.coordinates.insert(tensor.coordinates.end(), {row, row % 3});
    tensor.values.push_back(1.0 + static_cast<double>(row % 7));
  }
  const auto chunks = encode(coalesce(tensor), 5000);
  const auto factors = random_factors(tensor.shape, 9, 2);
  std::vector<double> system(81, 0.25);
  for (std::size_t r = 0; r < 9; ++r) system[r * 10] = 2.0 + static_cast<double>(r);

  const auto update = [&](int threads) {
    BackendUnderTest backend({threads, Precision::f64}, tensor.shape, 9);
    backend.load(factors);
    backend.pass(chunks, 0);
    std::vector<double> numbers = backend->update_rows(0, RowSolver(system, 9)).norms;
    const auto gram = backend->gram(0);
    const auto rows = backend.factor(0);
    numbers.insert(numbers.end(), gram.begin(), gram.end());
    numbers.insert(numbers.end(), rows.begin(), rows.end());
    return numbers;
  };

  EXPECT_EQ(update(1), update(2));
  EXPECT_EQ(update(1), update(3));
}

TEST(HostBackend, KeepsValuesThatWouldBeDenormalAsFloats) {
  const CooTensor tensor{{1, 1}, {0, 0}, {0x1p-140}};
  const auto chunks = encode(tensor, 1);
  ASSERT_EQ(view_payload(chunks[0].view()[Column::value]).codec, Codec::f32);
  BackendUnderTest backend({1, Precision::f64}, tensor.shape, 1);
  backend->load_factor(1, 0, std::vector{3.0});

  const auto rows = backend.pass(chunks, 0);

  EXPECT_EQ(rows, std::vector{3 * 0x1p-140});
}

TEST(HostBackend, TakesFactorsInBlocksOfRows) {
  const std::vector<std::uint64_t> shape{100, 2};
  const auto factor = random_matrix(100, 5, 3);
  BackendUnderTest whole({1, Precision::f64}, shape, 5);
  BackendUnderTest blocks({2, Precision::f64}, shape, 5);

  whole->load_factor(0, 0, factor);
  for (std::uint64_t row = 0; row < 100; row += 25) {
    blocks->load_factor(0, row, std::span(factor).subspan(row * 5, 25 * 5));
  }

  std::vector<double> stored(factor.size());
  blocks->store_factor(0, 0, stored);
  EXPECT_EQ(stored, factor);
  EXPECT_THAT(blocks->gram(0), ::testing::ElementsAreArray(whole->gram(0)));
  EXPECT_THROW(blocks->load_factor(0, 99, std::vector<double>(10)), Error);
}

TEST(HostBackend, TakesDenormalNumbersAsZero) {
  const CooTensor tensor{{1, 1}, {0, 0}, {1e-160}};
  BackendUnderTest backend({1, Precision::f64}, tensor.shape, 1);
  backend->load_factor(1, 0, std::vector{1e-150});

  const auto rows = backend.pass(encode(tensor, 1), 0);

  EXPECT_EQ(rows, std::vector{0.0});
}

TEST(HostBackend, RecoversFromAPassThatWasGivenUp) {
  const auto tensor = random_tensor({.shape = {64, 101, 32}, .nnz = 3000, .seed = 13});
  const auto chunks = encode(tensor, 3000);
  const auto factors = random_factors(tensor.shape, 5, 2);
  for (const std::uint64_t private_bytes : {std::uint64_t{1} << 30, std::uint64_t{64 * 8 * 8 * 2}, std::uint64_t{0}}) {
    BackendUnderTest backend({3, Precision::f64}, tensor.shape, 5, private_bytes);
    backend.load(factors);
    EncodedChunk damaged = chunks[0];
    damaged.upper[1] = 50;
    backend->begin_pass(0);
    EXPECT_THROW(backend->submit(0, damaged.view()), Error);

    const auto rows = backend.pass(chunks, 0);

    EXPECT_THAT(rows, RowsNear(coordinate_mttkrp(tensor, factors, 5, 0), 1e-12));
  }
}

TEST(HostBackend, FinishesAPassWhoseChunkFailedInABlockOfRows) {
  auto tensor = random_tensor({.shape = {3900, 101, 32}, .nnz = 9000, .seed = 13});
  tensor.shape[0] = 6400;  // too long for whole copies
  const auto chunks = encode(tensor, 9000);
  const auto factors = random_factors(tensor.shape, 5, 2);
  BackendUnderTest backend({3, Precision::f64}, tensor.shape, 5, /*private_bytes=*/2 * 4000 * 8 * 8);
  backend.load(factors);
  EncodedChunk damaged = chunks[0];
  damaged.upper[0] = 3800;  // seen by the last part only, when the others have added
  backend->begin_pass(0);
  EXPECT_THROW(backend->submit(0, damaged.view()), Error);
  backend->finish_pass();

  const auto rows = backend.pass(chunks, 0);

  EXPECT_THAT(rows, RowsNear(coordinate_mttkrp(tensor, factors, 5, 0), 1e-12));
}

TEST(HostBackend, KeepsAMixedSolutionBeyondTheRangeOfFloatUntilItIsNormalised) {
  for (const double size : {1e-60, 1e60}) {
    const CooTensor tensor = coalesce({{4, 2}, {0, 0, 1, 1, 3, 0}, {3 * size, -4 * size, 12 * size}});
    for (const int threads : {0, 2}) {
      BackendUnderTest backend({threads, Precision::mixed}, tensor.shape, 1);
      backend.load({{std::vector<double>(4, 1.0), std::vector<double>(2, 1.0)}});
      backend.pass(encode(tensor, 100), 0);

      const RowUpdate update = backend->update_rows(0, RowSolver(std::vector<double>{2.0}, 1));

      EXPECT_NEAR(update.norms[0], 6.5 * size, 1e-14 * size);
      const auto stored = [](double number) { return static_cast<double>(static_cast<float>(number)); };
      EXPECT_THAT(backend.factor(0),
                  ::testing::ElementsAre(stored(3.0 / 13), stored(-4.0 / 13), 0.0, stored(12.0 / 13)));
    }
  }
}

// Every instruction set that this CPU has, down to plain scalar code.
TEST(HostBackend, ComputesTheSameOnEveryInstructionSet) {
  const auto tensor = random_tensor({.shape = {40, 31, 57}, .nnz = 3000, .seed = 2});
  const auto chunks = encode(tensor, 1000);
  const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  for (const std::int64_t target : targets) {
    hwy::GetChosenTarget().Update(target);
    for (const int rank : {1, 3, 7, 16, 100}) {
      for (const Precision precision : {Precision::f64, Precision::f32, Precision::mixed}) {
        const BackendCase which{2, precision};
        const auto factors = which.held(random_factors(tensor.shape, rank, 11));
        BackendUnderTest backend(which, tensor.shape, rank);
        backend.load(factors);
        for (int mode = 0; mode < 3; ++mode) {
          const auto expected = coordinate_mttkrp(tensor, factors, rank, static_cast<std::size_t>(mode));
          EXPECT_THAT(backend.pass(chunks, mode), RowsNear(expected, which.tolerance())) << "target " << target;
        }
      }
    }
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(HostBackend, UpdatesRowsAlikeOnEveryInstructionSet) {
  const auto tensor = random_tensor({.shape = {150, 31}, .nnz = 400, .seed = 2});
  const auto chunks = encode(tensor, 1000);
  for (const int rank : {1, 3, 7, 16, 33}) {
    const auto n = static_cast<std::size_t>(rank);
    std::vector<double> definite(n * n, 0.25);
    for (std::size_t r = 0; r < n; ++r) definite[r * n + r] = 1.0 + static_cast<double>(r);
    for (const std::vector<double>& system : {definite, std::vector<double>(n * n, 1.0)}) {
      const RowSolver solver(system, rank);
      const auto update = [&](const BackendCase& which) {
        BackendUnderTest backend(which, tensor.shape, rank);
        backend.load(random_factors(tensor.shape, rank, 11));
        backend.pass(chunks, 0);
        const RowUpdate sums = backend->update_rows(0, solver);
        std::vector<double> numbers = backend.factor(0);
        numbers.insert(numbers.end(), sums.norms.begin(), sums.norms.end());
        numbers.push_back(sums.inner);
        return numbers;
      };
      const std::vector<double> expected = update({0, Precision::f64});
      for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
        hwy::GetChosenTarget().Update(target);
        const std::vector<double> actual = update({2, Precision::f64});
        for (std::size_t i = 0; i < actual.size(); ++i) {
          EXPECT_NEAR(actual[i], expected[i], 1e-12 * std::max(1.0, std::abs(expected[i])))
              << "rank " << rank << " on " << hwy::TargetName(target);
        }
      }
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    }
  }
}

}  // namespace
}  // namespace blco::testing
