// Every backend's MTTKRP against a loop over coordinates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "blco/error.hpp"
#include "tests/kernels/backend_cases.hpp"
#include "tests/random_tensor.hpp"

namespace blco::testing {
namespace {

class EveryBackend : public ::testing::TestWithParam<BackendCase> {
 protected:
  void expect_all_modes(const CooTensor& tensor, int rank, std::uint64_t chunk_nnz,
                        std::uint64_t private_bytes = std::uint64_t{1} << 40) {
    const auto factors = random_factors(tensor.shape, rank, 11);
    const auto held = GetParam().held(factors);
    const auto chunks = encode(tensor, chunk_nnz);
    BackendUnderTest backend(GetParam(), tensor.shape, rank, private_bytes);
    backend.load(factors);
    for (std::size_t mode = 0; mode < tensor.order(); ++mode) {
      const auto expected = coordinate_mttkrp(tensor, held, rank, mode);
      EXPECT_THAT(backend.pass(chunks, static_cast<int>(mode)), RowsNear(expected, GetParam().tolerance()))
          << "mode " << mode << ", rank " << rank << ", order " << tensor.order() << ", chunks of " << chunk_nnz;
    }
  }
};

TEST_P(EveryBackend, ComputesMttkrpOfOrders1To8) {
  const std::vector<std::uint64_t> lengths{19, 7, 33, 5, 12, 3, 64, 2};

  for (std::size_t order = 1; order <= lengths.size(); ++order) {
    const std::vector<std::uint64_t> shape(lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(order));
    expect_all_modes(random_tensor({.shape = shape, .nnz = 900, .seed = order}), 5, 500);
  }
}

TEST_P(EveryBackend, ComputesMttkrpOfAnyRank) {
  const auto tensor = random_tensor({.shape = {40, 31, 57}, .nnz = 1500, .seed = 2});

  for (const int rank :
       {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 32, 33, 48, 57, 64, 65, 72, 73, 100, 130, 136, 144, 200}) {
    expect_all_modes(tensor, rank, 1000);
  }
}

TEST_P(EveryBackend, ComputesMttkrpOfWideRanksAndOtherOrders) {
  for (const std::size_t order : {2U, 4U, 5U}) {
    const std::vector<std::uint64_t> shape(order, 13);
    for (const int rank : {16, 40, 100}) {
      expect_all_modes(random_tensor({.shape = shape, .nnz = 700, .seed = order}), rank, 300);
    }
  }
}

TEST_P(EveryBackend, ComputesMttkrpOfChunksAstrideFrameBoundaries) {
  const auto tensor = random_tensor({.shape = {97, 33, 65}, .nnz = 2100, .seed = 7});

  for (const std::uint64_t chunk_nnz : {31, 255, 256, 257, 511, 512, 513, 1000, 5000}) {
    expect_all_modes(tensor, 3, chunk_nnz);
  }
}

TEST_P(EveryBackend, ComputesMttkrpOfChunksOfOneNonzero) {
  const auto tensor = random_tensor({.shape = {9, 8, 7}, .nnz = 60, .seed = 3});

  expect_all_modes(tensor, 8, 1);
}

TEST_P(EveryBackend, ComputesMttkrpOfLinesOfAnyWidth) {
  const std::vector<std::vector<std::uint64_t>> shapes{
      {1},                                               // 0 bits
      {1, 1, 1},                                         // 0
      {2, 1},                                            // 1
      {1, 300, 1, 200},                                  // 17, modes of length 1
      {256, 256, 256, 256, 256, 256, 256, 100},          // 63
      {256, 256, 256, 256, 256, 256, 256, 200},          // 64
      {8192, 8000, 5000, 8191, 4097},                    // 65
      {2000, 1500, 1025, 2048, 1030, 1200},              // 66
      {512, 500, 300, 257, 400, 511, 700, 1000},         // 74
      {1500, 1025, 2000, 2048, 1100, 1200, 1300, 1900},  // 88
      std::vector<std::uint64_t>(16, 200),               // 128
  };

  for (const auto& shape : shapes) {
    expect_all_modes(random_tensor({.shape = shape, .nnz = 1100, .seed = shape.size()}), 3, 600);
  }
}

TEST_P(EveryBackend, ComputesMttkrpWhereFramesShareAKey) {
  const auto tensor = random_tensor({.shape = {8192, 8000, 5000, 8191, 4097}, .nnz = 3000, .seed = 4, .skew = 40.0});

  expect_all_modes(tensor, 5, 2000);
}

TEST_P(EveryBackend, ComputesMttkrpOfEveryKindOfValue) {
  for (const Values values : {Values::uniform, Values::counts, Values::ones}) {
    expect_all_modes(random_tensor({.shape = {50, 60, 70}, .nnz = 1000, .seed = 5, .values = values}), 16, 700);
  }
}

TEST_P(EveryBackend, DividesValuesByThePowerOfTwoOfTheirChunk) {
  for (const Values kind : {Values::uniform, Values::counts, Values::ones}) {
    CooTensor tensor = random_tensor({.shape = {50, 60, 70}, .nnz = 1000, .seed = 5, .values = kind});
    auto chunks = encode(tensor, 700);
    for (std::size_t i = 0; i < tensor.nnz(); ++i) tensor.values[i] *= i < 700 ? 0.25 : 8;
    ASSERT_EQ(chunks.size(), 2u);
    chunks[0].value_exponent = 2;
    chunks[1].value_exponent = -3;
    const auto factors = random_factors(tensor.shape, 5, 11);
    BackendUnderTest backend(GetParam(), tensor.shape, 5);
    backend.load(factors);

    const auto streamed = backend.pass(chunks, 1);
    const std::vector<ResidentId> kept{backend->keep(0, chunks[0].view(), Tier::decoded),
                                       backend->keep(0, chunks[1].view(), Tier::packed)};
    const auto resident = backend.resident_pass(kept, 1);

    const auto expected = coordinate_mttkrp(tensor, GetParam().held(factors), 5, 1);
    EXPECT_THAT(streamed, RowsNear(expected, GetParam().tolerance()));
    EXPECT_THAT(resident, RowsNear(expected, GetParam().tolerance()));
  }
}

TEST_P(EveryBackend, AddsUpLongRunsOfOneRow) {
  const auto tensor = random_tensor({.shape = {2, 3, 4000}, .nnz = 6000, .seed = 6});

  for (const int rank : {1, 6, 16, 33}) expect_all_modes(tensor, rank, 4000);
}

TEST_P(EveryBackend, AddsRowsThatChunksShareWithoutPrivateCopies) {
  const auto tensor = random_tensor({.shape = {40, 300, 65}, .nnz = 5000, .seed = 8, .skew = 2.0});

  for (const int rank : {1, 3, 16, 70}) expect_all_modes(tensor, rank, 2000, 0);
}

TEST_P(EveryBackend, AddsRowsThatChunksShareInNarrowBlocks) {
  // Neighbours in line order agree in the high bits of every mode, so that chunks of 2000 have narrow bounds.
  const auto tensor = random_tensor({.shape = {512, 512, 512}, .nnz = 20'000, .seed = 9});
  constexpr std::uint64_t room_for_half_a_mode = 2 * 256 * 8 * sizeof(double);

  expect_all_modes(tensor, 8, 2000, room_for_half_a_mode);
}

TEST_P(EveryBackend, LeavesRowsOfEmptySlicesZero) {
  const CooTensor tensor = coalesce({{5, 9}, {1, 2, 3, 8}, {2.0, -4.0}});
  const std::vector<std::vector<double>> factors{std::vector<double>(5, 1.0), std::vector<double>(9, 0.5)};
  BackendUnderTest backend(GetParam(), tensor.shape, 1);
  backend.load(factors);

  const auto rows = backend.pass(encode(tensor, 100), 0);

  EXPECT_THAT(rows, ::testing::ElementsAre(0.0, 1.0, 0.0, -2.0, 0.0));
}

TEST_P(EveryBackend, StartsEveryPassFromZero) {
  const auto tensor = random_tensor({.shape = {20, 30, 40}, .nnz = 2000, .seed = 10});
  const auto chunks = encode(tensor, 700);
  const auto factors = random_factors(tensor.shape, 4, 1);
  BackendUnderTest backend(GetParam(), tensor.shape, 4);
  backend.load(factors);

  const auto first = backend.pass(chunks, 2);
  backend.pass(chunks, 1);
  const auto again = backend.pass(chunks, 2);

  EXPECT_EQ(first, again);
}

TEST_P(EveryBackend, GivesTheSameFromResidentsAsFromTheStream) {
  for (const auto& shape : {std::vector<std::uint64_t>{30, 50, 20}, std::vector<std::uint64_t>(9, 250)}) {
    const auto tensor = random_tensor({.shape = shape, .nnz = 3000, .seed = 12, .values = Values::uniform});
    const auto chunks = encode(tensor, 1100);
    BackendUnderTest backend(GetParam(), shape, 6);
    backend.load(random_factors(shape, 6, 2));
    std::vector<ResidentId> packed;
    std::vector<ResidentId> decoded;
    for (const EncodedChunk& chunk : chunks) {
      packed.push_back(backend->keep(0, chunk.view(), Tier::packed));
      EncodedChunk reused = chunk;
      decoded.push_back(backend->keep(0, reused.view(), Tier::decoded));
    }

    for (int mode = 0; mode < static_cast<int>(shape.size()); ++mode) {
      const auto streamed = backend.pass(chunks, mode);
      EXPECT_EQ(backend.resident_pass(packed, mode), streamed);
      EXPECT_EQ(backend.resident_pass(decoded, mode), streamed);
    }
  }
}

TEST_P(EveryBackend, RefusesACoordinateOutsideItsMode) {
  // Encoded under a longer shape of as many bits, so that index 100 of mode 1 gets through to a tensor of length 100.
  const auto tensor = random_tensor({.shape = {64, 101, 32}, .nnz = 3000, .seed = 13});
  auto chunks = encode(tensor, 1000);
  const std::vector<std::uint64_t> shape{64, 100, 32};
  for (auto& chunk : chunks) chunk.upper[1] = std::min<std::uint64_t>(chunk.upper[1], 99);
  for (const bool with_bounds : {true, false}) {
    BackendUnderTest backend(GetParam(), shape, 4);
    backend.load(random_factors(shape, 4, 2));

    try {
      for (int mode = 0; mode < 3; ++mode) {
        backend->begin_pass(mode);
        for (const auto& chunk : chunks) {
          ChunkView view = chunk.view();
          if (!with_bounds) view.lower = view.upper = {};
          backend->submit(0, view);
        }
      }
      FAIL() << "a coordinate outside the tensor was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::corrupt);
      EXPECT_THAT(error.what(), ::testing::AllOf(::testing::HasSubstr("chunk "), ::testing::HasSubstr("mode 1")));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Mttkrp, EveryBackend, ::testing::ValuesIn(every_backend()),
                         [](const auto& which) { return which.param.name(); });

}  // namespace
}  // namespace blco::testing
