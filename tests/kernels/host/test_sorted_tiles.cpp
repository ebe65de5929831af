// Sorted copies of decoded chunks: what they hold, when there are some, and that passes over them give the same bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "blco/bits.hpp"
#include "kernels/host/host_backend.hpp"
#include "kernels/host/sorted_tiles.hpp"
#include "tests/kernels/backend_cases.hpp"
#include "tests/random_tensor.hpp"
#include "tests/thread_executor.hpp"

namespace blco::testing {
namespace {

constexpr std::uint64_t row_begins = std::uint64_t{1} << 63;
constexpr std::uint64_t much = std::uint64_t{1} << 40;

// Lines 0, 1, 2 and so on, their row in the bits of `mask`, and as values their numbers.
DecodedChunk counted(std::uint64_t nnz) {
  DecodedChunk chunk{AlignedBuffer<std::uint64_t>(nnz), {}, AlignedBuffer<double>(nnz)};
  for (std::uint64_t i = 0; i < nnz; ++i) {
    chunk.indices.data()[i] = i;
    chunk.values.data()[i] = static_cast<double>(i);
  }
  return chunk;
}

TEST(SortedTiles, KeepTheOrderOfARowAndMarkWhereItBegins) {
  if (!has_fast_pext()) GTEST_SKIP() << "this CPU has no fast pext";
  SerialExecutor executor;
  const DecodedChunk chunk = counted(12);

  const auto sorted = sort_chunk(chunk, 12, /*row_mask=*/1, /*min_run=*/6, executor);

  ASSERT_TRUE(sorted);
  const std::vector<std::uint64_t> lines(sorted->lines.data(), sorted->lines.data() + 12);
  EXPECT_THAT(lines, ::testing::ElementsAre(row_begins | 0, 2, 4, 6, 8, 10, row_begins | 1, 3, 5, 7, 9, 11));
  EXPECT_EQ(sorted->values.data()[2], 4);
  EXPECT_EQ(sorted->values.data()[11], 11);
}

TEST(SortedTiles, StayWithinTheFramesOfAPart) {
  if (!has_fast_pext()) GTEST_SKIP() << "this CPU has no fast pext";
  ThreadExecutor executor(3);
  const std::uint64_t nnz = sorted_tile_entries + 5 * frame_entries + 7;
  const DecodedChunk chunk = counted(nnz);
  const std::uint64_t frames = (nnz + frame_entries - 1) / frame_entries;

  const auto sorted = sort_chunk(chunk, nnz, /*row_mask=*/0xf, 6, executor);

  ASSERT_TRUE(sorted);
  for (std::uint64_t part = 0; part < 3; ++part) {
    const std::uint64_t begin = frames * part / 3 * frame_entries;
    const std::uint64_t end = std::min(frames * (part + 1) / 3 * frame_entries, nnz);
    double sum = 0;
    double expected = 0;
    for (std::uint64_t i = begin; i < end; ++i) {
      sum += sorted->values.data()[i];
      expected += static_cast<double>(i);
    }
    EXPECT_EQ(sum, expected) << "part " << part;
    EXPECT_NE(sorted->lines.data()[begin] & row_begins, 0U) << "part " << part;
  }
}

TEST(SortedTiles, AreNotMadeWhereRowsHaveFewNonzeros) {
  if (!has_fast_pext()) GTEST_SKIP() << "this CPU has no fast pext";
  SerialExecutor executor;
  const DecodedChunk chunk = counted(4096);

  EXPECT_TRUE(sort_chunk(chunk, 4096, /*row_mask=*/0x1ff, 6, executor));
  EXPECT_FALSE(sort_chunk(chunk, 4096, /*row_mask=*/0x3ff, 6, executor));
  EXPECT_FALSE(sort_chunk(chunk, 4096, /*row_mask=*/~row_begins, 6, executor));
}

TEST(SortedTiles, AreOfNoUseWithLargeFactorsOrFullLineIndices) {
  if (!has_fast_pext()) GTEST_SKIP() << "this CPU has no fast pext";
  const std::vector<std::uint64_t> nnzs{1000};
  const auto bytes = [&](std::vector<std::uint64_t> shape, int rank) {
    return host_sorted_bytes({TensorLayout(shape), rank}, nnzs, 1);
  };

  EXPECT_GT(bytes({1000, 1000}, 16), 2 * 1000U * 16);
  EXPECT_EQ(bytes({1000, 150'000}, 16), 0U);  // 18 MiB
  EXPECT_GT(bytes({1000, 150'000}, 32), 0U);  // 37 MiB, of wide rows
  EXPECT_EQ(bytes({1000, 300'000}, 32), 0U);
  EXPECT_EQ(bytes(std::vector<std::uint64_t>(16, 16), 16), 0U);  // 64 bits
}

// The numbers of a pass in which chunks are sorted.
std::vector<double> sorted_pass(BackendUnderTest& backend, std::span<const ResidentId> chunks, int mode) {
  for (int i = 0; i < passes_before_sorting; ++i) backend.resident_pass(chunks, mode);
  return backend.resident_pass(chunks, mode);
}

class SortedPasses : public ::testing::TestWithParam<BackendCase> {};

TEST_P(SortedPasses, GiveTheSameBitsAsFromTheStreamAndTheNumbersOfTheReference) {
  const std::vector<std::vector<std::uint64_t>> shapes{
      {30, 50}, {300, 50, 70}, {20, 7, 90, 60}, {9, 31, 8, 50, 12}, {5, 6, 7, 8, 9, 10}};
  constexpr std::array ranks = {1, 5, 16, 33, 70};
  for (std::size_t s = 0; s < shapes.size(); ++s) {
    const auto& shape = shapes[s];
    for (const Values values : {Values::uniform, Values::ones}) {
      const auto tensor = random_tensor({.shape = shape, .nnz = 20'000, .seed = 1, .values = values, .skew = 2.0});
      const auto chunks = encode(tensor, 9000);
      for (const int rank : {ranks[s], ranks[(s + 2) % ranks.size()]}) {
        const auto factors = random_factors(shape, rank, 2);
        BackendUnderTest backend(GetParam(), shape, rank, much, /*sorted_bytes=*/much);
        BackendUnderTest reference({0, GetParam().precision}, shape, rank);
        backend.load(factors);
        reference.load(factors);
        std::vector<ResidentId> decoded;
        for (const EncodedChunk& chunk : chunks) {
          decoded.push_back(backend->keep(0, chunk.view(), ResidentForm::decoded));
        }
        for (int mode = 0; mode < static_cast<int>(shape.size()); ++mode) {
          const auto sorted = sorted_pass(backend, decoded, mode);

          EXPECT_EQ(sorted, backend.pass(chunks, mode)) << "mode " << mode << ", rank " << rank;
          const auto expected = reference.pass(chunks, mode);
          double difference = 0;
          double largest = 0;
          for (std::size_t i = 0; i < expected.size(); ++i) {
            difference = std::max(difference, std::abs(sorted[i] - expected[i]));
            largest = std::max(largest, std::abs(expected[i]));
          }
          EXPECT_LE(difference, largest * GetParam().tolerance() * 10) << "mode " << mode << ", rank " << rank;
        }
      }
    }
  }
}

TEST_P(SortedPasses, FallBackToDecodedChunksWhereMemoryForThemEnds) {
  const std::vector<std::uint64_t> shape{40, 50, 60};
  const auto tensor = random_tensor({.shape = shape, .nnz = 20'000, .seed = 3});
  const auto chunks = encode(tensor, 5000);
  // Room for some modes of some chunks.
  const std::uint64_t room = 4 * sorted_chunk_bytes(5000) + sort_scratch_bytes(GetParam().threads);
  BackendUnderTest backend(GetParam(), shape, 16, much, room);
  backend.load(random_factors(shape, 16, 2));
  std::vector<ResidentId> decoded;
  for (const EncodedChunk& chunk : chunks) decoded.push_back(backend->keep(0, chunk.view(), ResidentForm::decoded));

  for (int mode = 0; mode < 3; ++mode) EXPECT_EQ(sorted_pass(backend, decoded, mode), backend.pass(chunks, mode));
}

INSTANTIATE_TEST_SUITE_P(Host, SortedPasses,
                         ::testing::Values(BackendCase{1, Precision::f64}, BackendCase{2, Precision::f64},
                                           BackendCase{3, Precision::f32}, BackendCase{2, Precision::mixed}),
                         [](const auto& which) { return which.param.name(); });

}  // namespace
}  // namespace blco::testing
