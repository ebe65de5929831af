// Owners of rows: every nonzero reaches one of them, in the order of the chunk, on any number of threads.
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "blco/bits.hpp"
#include "blco/error.hpp"
#include "kernels/highway_targets.hpp"
#include "kernels/host/owner_split.hpp"
#include "kernels/host/row_exchange.hpp"
#include "tests/random_tensor.hpp"
#include "tests/thread_executor.hpp"
// After the limits on targets:
#include <hwy/targets.h>

namespace blco::testing {
namespace {

// Coordinates and value, and where in the chunk.
struct Nonzero {
  std::vector<std::uint64_t> coordinates;
  double value = 0;
  bool operator==(const Nonzero&) const = default;
};

std::vector<Nonzero> nonzeros_of(const FrameDecoder& decoder, const NonzeroSpan& span, int order, FrameRing& ring) {
  std::vector<Nonzero> found;
  for (std::size_t first = 0; first < span.count; first += frame_entries) {
    const std::size_t count = std::min<std::size_t>(frame_entries, span.count - first);
    decoder.expand({span.indices + first, span.keys == nullptr ? nullptr : span.keys + first,
                    span.values == nullptr ? nullptr : span.values + first, count},
                   ring);
    for (std::size_t i = 0; i < count; ++i) {
      Nonzero nonzero{{}, ring.values()[i]};
      for (int mode = 0; mode < order; ++mode) nonzero.coordinates.push_back(ring.rows(mode)[i]);
      found.push_back(nonzero);
    }
  }
  return found;
}

// What each owner was given, in the order in which it came.
std::vector<std::vector<Nonzero>> exchange(const FrameDecoder& decoder, const FrameSource& source,
                                           const std::vector<std::uint64_t>& shape, int threads, int mode,
                                           int ignored_bits) {
  ThreadExecutor executor(threads);
  const auto order = static_cast<int>(shape.size());
  RowExchange exchange(TensorLayout(shape), decoder, executor);
  std::vector<FrameRing> rings;
  std::vector<FrameRing> own_rings;
  for (int i = 0; i < threads; ++i) {
    rings.emplace_back(order);
    own_rings.emplace_back(order);
  }
  std::vector<std::vector<Nonzero>> given(static_cast<std::size_t>(threads));
  exchange.run(source, source.all_frames(), mode, ignored_bits, rings, [&](std::size_t part, const NonzeroSpan& span) {
    for (Nonzero& nonzero : nonzeros_of(decoder, span, order, own_rings[part])) given[part].push_back(nonzero);
  });
  return given;
}

void expect_owners(const CooTensor& tensor, const std::vector<std::vector<Nonzero>>& given, std::size_t mode,
                   int ignored_bits) {
  std::map<std::uint64_t, std::vector<Nonzero>> expected;
  for (std::size_t i = 0; i < tensor.nnz(); ++i) {
    Nonzero nonzero{{}, tensor.values[i]};
    for (std::size_t m = 0; m < tensor.order(); ++m) nonzero.coordinates.push_back(tensor.coordinate(i, m));
    expected[nonzero.coordinates[mode] >> ignored_bits].push_back(nonzero);
  }
  std::map<std::uint64_t, std::vector<Nonzero>> found;
  std::map<std::uint64_t, std::size_t> owner;
  for (std::size_t part = 0; part < given.size(); ++part) {
    for (const Nonzero& nonzero : given[part]) {
      const std::uint64_t rows = nonzero.coordinates[mode] >> ignored_bits;
      ASSERT_EQ(owner.try_emplace(rows, part).first->second, part) << "row " << rows << " has two owners";
      found[rows].push_back(nonzero);
    }
  }
  EXPECT_EQ(found, expected) << "mode " << mode << ", " << given.size() << " threads";
}

class RowExchangeTest : public ::testing::TestWithParam<BitExtraction> {
 protected:
  void SetUp() override {
    if (GetParam() == BitExtraction::pext && !has_fast_pext()) GTEST_SKIP() << "this CPU has no fast pext";
  }
};

TEST_P(RowExchangeTest, GivesEveryRowOneOwnerAndItsNonzerosInOrder) {
  const std::vector<std::vector<std::uint64_t>> shapes{{300, 50, 70}, {2, 3, 40000}, {8192, 8000, 5000, 8191, 4097}};
  for (const auto& shape : shapes) {
    for (const Values values : {Values::uniform, Values::ones}) {
      const auto tensor = random_tensor({.shape = shape, .nnz = 5'001, .seed = 1, .values = values, .skew = 2.0});
      const EncodedChunk chunk = encode_chunk(tensor, 0, tensor.nnz(), 0);
      const FrameDecoder decoder(TensorLayout(shape), GetParam());
      for (const int threads : {2, 3, 40}) {
        for (std::size_t mode = 0; mode < shape.size(); ++mode) {
          const int ignored_bits = threads % 2;
          expect_owners(
              tensor,
              exchange(decoder, decoder.open(chunk.view()), shape, threads, static_cast<int>(mode), ignored_bits), mode,
              ignored_bits);
        }
      }
    }
  }
}

TEST_P(RowExchangeTest, TakesManyRoundsAndDecodedChunks) {
  const std::vector<std::uint64_t> shape{300, 500, 700};
  const auto tensor = random_tensor({.shape = shape, .nnz = 140'000, .seed = 2});
  const EncodedChunk chunk = encode_chunk(tensor, 0, tensor.nnz(), 0);
  const FrameDecoder decoder(TensorLayout(shape), GetParam());
  const FrameSource packed = decoder.open(chunk.view());
  DecodedChunk decoded = decoder.make_decoded(packed);
  FrameRing ring(3);
  for (std::uint64_t frame = 0; frame < packed.frames(); ++frame) decoder.decode_into(packed, frame, ring, decoded);
  FrameSource source = packed;
  source.index = source.key = source.value = {};
  source.decoded = &decoded;

  for (const int threads : {2, 3}) {
    expect_owners(tensor, exchange(decoder, packed, shape, threads, 1, 0), 1, 0);
    expect_owners(tensor, exchange(decoder, source, shape, threads, 1, 0), 1, 0);
  }
}

TEST_P(RowExchangeTest, RefusesACoordinateOutsideItsChunk) {
  const std::vector<std::uint64_t> shape{64, 101, 32};
  const auto tensor = random_tensor({.shape = shape, .nnz = 3000, .seed = 13});
  EncodedChunk damaged = encode_chunk(tensor, 0, tensor.nnz(), 0);
  const FrameDecoder decoder(TensorLayout(shape), GetParam());
  for (std::size_t mode = 0; mode < 3; ++mode) {
    EncodedChunk low = damaged;
    EncodedChunk high = damaged;
    ++low.lower[mode];
    --high.upper[mode];
    for (const EncodedChunk& chunk : {low, high}) {
      for (const int threads : {2, 3}) {
        EXPECT_THROW(exchange(decoder, decoder.open(chunk.view()), shape, threads, 0, 0), Error);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(RowExchange, RowExchangeTest, ::testing::Values(BitExtraction::pext, BitExtraction::tables),
                         [](const auto& which) {
                           return std::string(which.param == BitExtraction::pext ? "pext" : "tables");
                         });

TEST(OwnerSplit, SpreadsRowsAndKeepsEachWholeOnEveryInstructionSet) {
  constexpr std::uint64_t mask = 0x249249249249;
  std::vector<std::uint64_t> indices;
  for (std::uint64_t i = 0; i < 1003; ++i) indices.push_back(0x9e3779b97f4a7c15 * (i / 3) >> 16);
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::GetChosenTarget().Update(target);
    for (const std::uint16_t owners : {std::uint16_t{2}, std::uint16_t{3}}) {
      std::vector<std::uint16_t> owner(indices.size());
      find_owners(indices.data(), indices.size(), mask, owners, owner.data());
      std::map<std::uint64_t, std::uint16_t> of_row;
      std::vector<std::size_t> counts(owners);
      for (std::size_t i = 0; i < indices.size(); ++i) {
        ASSERT_LT(owner[i], owners) << "target " << hwy::TargetName(target);
        EXPECT_EQ(of_row.try_emplace(indices[i] & mask, owner[i]).first->second, owner[i]);
        ++counts[owner[i]];
      }
      for (const std::size_t count : counts) EXPECT_GT(count, indices.size() / owners / 2);
    }
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace
}  // namespace blco::testing
