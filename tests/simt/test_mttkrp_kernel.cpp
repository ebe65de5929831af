// The MTTKRP kernels in the emulator, in three thread orders, against a loop over coordinates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/cuda/mttkrp.hpp"
#include "tests/kernels/rows_near.hpp"
#include "tests/simt/emulated_backend.hpp"
#include "tests/simt/simt_control.hpp"

namespace blco::testing {
namespace {

constexpr double f64_tolerance = 1e-12;
constexpr double f32_tolerance = 1e-5;

std::string name_of(ConflictResolution conflict_resolution) {
  return conflict_resolution == ConflictResolution::register_based ? "register" : "hierarchical";
}

void expect_all_modes(const CooTensor& stored, std::uint64_t chunk_nnz, const EmulatedOptions& options,
                      int value_exponent = 0) {
  auto factors = random_factors(stored.shape, options.rank, 11);
  if (options.precision == Precision::mixed) {
    for (auto& factor : factors) std::ranges::transform(factor, factor.begin(), [](double x) { return float(x); });
  }
  auto chunks = encode(stored, chunk_nnz);
  for (EncodedChunk& chunk : chunks) chunk.value_exponent = value_exponent;
  CooTensor tensor = stored;
  for (double& value : tensor.values) value = std::ldexp(value, -value_exponent);
  EmulatedBackend backend(tensor.shape, options);
  backend.load(factors);
  for (std::size_t mode = 0; mode < tensor.order(); ++mode) {
    const auto expected = coordinate_mttkrp(tensor, factors, options.rank, mode);
    const double tolerance = options.precision == Precision::f32 ? f32_tolerance : f64_tolerance;
    EXPECT_THAT(backend.pass(chunks, static_cast<int>(mode)), RowsNear(expected, tolerance))
        << "mode " << mode << ", rank " << options.rank << ", order " << tensor.order() << ", chunks of " << chunk_nnz;
  }
}

std::vector<std::uint64_t> shape_of_order(std::size_t order) {
  const std::vector<std::uint64_t> lengths{19, 7, 300, 5, 12, 3, 64, 2};
  return {lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(order)};
}

class MttkrpKernelTest : public ::testing::TestWithParam<std::tuple<simt::Order, ConflictResolution>> {
 protected:
  MttkrpKernelTest() {
    simt::reset();
    simt::set_order(std::get<0>(GetParam()));
    options_.conflict_resolution = std::get<1>(GetParam());
  }

  EmulatedOptions with_rank(int rank, Precision precision = Precision::f64) const {
    EmulatedOptions options = options_;
    options.rank = rank;
    options.precision = precision;
    return options;
  }

  EmulatedOptions options_;
};

TEST_P(MttkrpKernelTest, ComputesEveryOrderAndRank) {
  for (const std::size_t order : {1U, 3U, 4U, 5U, 8U}) {
    const auto tensor = random_tensor({.shape = shape_of_order(order), .nnz = 400, .seed = order});
    for (const int rank : {1, 7, 16, 32, 33, 64, 100}) expect_all_modes(tensor, 300, with_rank(rank));
  }
}

TEST_P(MttkrpKernelTest, ComputesEveryRankThatHasAKernelOfItsOwn) {
  const auto tensor = random_tensor({.shape = {40, 31, 57}, .nnz = 500, .seed = 2});

  for (const int rank : {2, 3, 5, 8, 9, 24, 31, 48, 65, 130}) expect_all_modes(tensor, 400, with_rank(rank));
}

// Slabs of columns take such a width where they can.
TEST(MttkrpKernels, AreOfTheRanksThatPlansKnow) {
  const auto kernel = [](int rank) {
    return cuda::mttkrp_kernel_for<double, double>(3, rank, /*stashed=*/false, KernelVariant::usual);
  };
  for (const int rank : gpu_kernel_ranks) {
    EXPECT_NE(kernel(rank), kernel(rank + 1)) << rank;
    EXPECT_TRUE(rank == 1 || kernel(rank) != kernel(rank - 1)) << rank;
  }
}

TEST_P(MttkrpKernelTest, ComputesInSinglePrecision) {
  const auto tensor = random_tensor({.shape = {40, 31, 57}, .nnz = 700, .seed = 3});

  for (const int rank : {1, 7, 8, 16, 24, 32, 33, 48, 64, 100}) {
    expect_all_modes(tensor, 400, with_rank(rank, Precision::f32));
  }
}

TEST_P(MttkrpKernelTest, RoundsNothingButFactorsInMixedPrecision) {
  for (const std::size_t order : {2U, 3U, 4U, 5U}) {
    const auto tensor = random_tensor({.shape = shape_of_order(order), .nnz = 400, .seed = order});
    for (const int rank : {7, 16, 32, 64, 100}) expect_all_modes(tensor, 300, with_rank(rank, Precision::mixed));
  }
}

TEST_P(MttkrpKernelTest, ComputesInEveryVariant) {
  for (const KernelVariant variant : {KernelVariant::wide, KernelVariant::wide_deep}) {
    EmulatedOptions options = with_rank(32);
    options.variant = variant;
    for (const std::size_t order : {3U, 4U, 5U}) {
      const auto tensor = random_tensor({.shape = shape_of_order(order), .nnz = 400, .seed = order});
      expect_all_modes(tensor, 300, options);
    }
  }
}

TEST_P(MttkrpKernelTest, ComputesChunksAstrideAWarpAndAFrame) {
  const auto tensor = random_tensor({.shape = {97, 33, 65}, .nnz = 1100, .seed = 7});

  for (const std::uint64_t chunk_nnz : {1, 31, 32, 33, 255, 256, 257, 511, 513, 2000}) {
    if (chunk_nnz > 1) expect_all_modes(tensor, chunk_nnz, with_rank(16));
    expect_all_modes(random_tensor({.shape = {97, 33, 65}, .nnz = chunk_nnz, .seed = 8}), chunk_nnz, with_rank(3));
  }
}

TEST_P(MttkrpKernelTest, ComputesFramesAstrideAChangeOfKey) {
  for (const auto& shape : {std::vector<std::uint64_t>{8192, 8000, 5000, 8191, 4097},
                            std::vector<std::uint64_t>(8, 1500), std::vector<std::uint64_t>(16, 200)}) {
    // Skewed: few keys, each with runs of nonzeros; uniform: nearly every nonzero has a key of its own.
    for (const double skew : {40.0, 1.0}) {
      expect_all_modes(random_tensor({.shape = shape, .nnz = 600, .seed = 4, .skew = skew}), 500, with_rank(5));
    }
  }
}

TEST_P(MttkrpKernelTest, ComputesLinesOfAnyWidth) {
  const std::vector<std::vector<std::uint64_t>> shapes{
      {1},                                       // 0 bits
      {1, 1, 1},                                 // 0
      {2, 1},                                    // 1
      {1, 300, 1, 200},                          // 17, modes of length 1
      {256, 256, 256, 256, 256, 256, 256, 200},  // 64
  };
  for (const auto& shape : shapes) {
    expect_all_modes(random_tensor({.shape = shape, .nnz = 500, .seed = shape.size()}), 300, with_rank(3));
  }
}

TEST_P(MttkrpKernelTest, ComputesEveryOrderInSinglePrecision) {
  for (const std::size_t order : {2U, 4U, 5U, 6U}) {
    const auto tensor = random_tensor({.shape = shape_of_order(order), .nnz = 400, .seed = order});
    for (const int rank : {16, 32, 64}) expect_all_modes(tensor, 300, with_rank(rank, Precision::f32));
  }
}

TEST_P(MttkrpKernelTest, ComputesEveryKindOfValue) {
  for (const Values values : {Values::uniform, Values::counts, Values::ones}) {
    const CooTensor tensor = random_tensor({.shape = {50, 60, 70}, .nnz = 600, .seed = 5, .values = values});
    for (const int exponent : {0, 3}) expect_all_modes(tensor, 400, with_rank(8), exponent);
  }
  auto tensor = random_tensor({.shape = {50, 60, 70}, .nnz = 600, .seed = 5, .values = Values::counts});
  for (const double scale : {-0.01, 0.5, 1.0 / 3}) {  // decimal, f32 and f64 codecs
    CooTensor scaled = tensor;
    for (double& value : scaled.values) value *= scale;
    for (const int exponent : {0, -40}) expect_all_modes(scaled, 400, with_rank(8), exponent);
  }
}

TEST_P(MttkrpKernelTest, AddsUpLongRunsOfOneRow) {
  const auto tensor = random_tensor({.shape = {2, 3, 4000}, .nnz = 1500, .seed = 6});

  for (const int rank : {1, 6, 32}) expect_all_modes(tensor, 1000, with_rank(rank));
}

TEST_P(MttkrpKernelTest, AddsRowsThatDoNotFitTheStash) {
  const auto tensor = random_tensor({.shape = {700, 900, 20}, .nnz = 800, .seed = 9});

  expect_all_modes(tensor, 500, with_rank(200));
}

INSTANTIATE_TEST_SUITE_P(
    EveryOrder, MttkrpKernelTest,
    ::testing::Values(std::tuple(simt::Order::forward, ConflictResolution::register_based),
                      std::tuple(simt::Order::reverse, ConflictResolution::hierarchical),
                      std::tuple(simt::Order::shuffled, ConflictResolution::register_based),
                      std::tuple(simt::Order::shuffled, ConflictResolution::hierarchical)),
    [](const auto& which) { return name_of(std::get<0>(which.param)) + "_" + name_of(std::get<1>(which.param)); });

}  // namespace
}  // namespace blco::testing
