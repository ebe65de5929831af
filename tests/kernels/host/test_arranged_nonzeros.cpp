// Arranged copies of decoded chunks: what they hold, when there are some, and what passes over them add up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <tuple>
#include <vector>

#include "blco/bits.hpp"
#include "kernels/device_kind.hpp"
#include "kernels/host/arranged_nonzeros.hpp"
#include "kernels/host/resident_chunks.hpp"
#include "tests/kernels/backend_cases.hpp"
#include "tests/random_tensor.hpp"
#include "tests/thread_executor.hpp"

namespace blco::testing {
namespace {

using ::testing::ElementsAre;

constexpr std::uint64_t plenty = std::uint64_t{1} << 40;

std::vector<std::uint32_t> numbers(const AlignedBuffer<std::uint32_t>& buffer, std::uint64_t count) {
  return {buffer.data(), buffer.data() + count};
}

// Decoded chunks of a tensor, for threads of one executor.
class DecodedCase {
 public:
  DecodedCase(const CooTensor& tensor, std::size_t chunk_nnz, int threads)
      : executor_(threads),
        order_(static_cast<int>(tensor.order())),
        decoder_(TensorLayout(tensor.shape), has_fast_pext() ? BitExtraction::pext : BitExtraction::tables),
        chunks_(encode(tensor, chunk_nnz)) {
    for (int i = 0; i < threads; ++i) rings_.emplace_back(order_);
    for (const EncodedChunk& chunk : chunks_) {
      FrameSource source = decoder_.open(chunk.view());
      DecodedChunk& decoded = decoded_.emplace_back(decoder_.make_decoded(source));
      for (std::uint64_t frame = 0; frame < source.frames(); ++frame) {
        decoder_.decode_into(source, frame, rings_[0], decoded);
      }
      source.decoded = &decoded;
      sources_.push_back(source);
    }
  }

  std::optional<ArrangedNonzeros> arranged(int mode, std::size_t parts, bool splits_rows) {
    return arrange(decoder_, sources_, {order_, mode, parts, splits_rows, splits_rows}, scratch_, rings_, executor_);
  }

 private:
  ThreadExecutor executor_;
  int order_;
  FrameDecoder decoder_;
  std::vector<EncodedChunk> chunks_;
  std::vector<FrameRing> rings_;
  std::deque<DecodedChunk> decoded_;
  std::vector<FrameSource> sources_;
  ArrangeScratch scratch_;
};

// Coordinates and value of each nonzero, sorted.
using Listed = std::vector<std::pair<std::vector<std::uint64_t>, double>>;

Listed listed(const CooTensor& tensor) {
  Listed list;
  for (std::size_t i = 0; i < tensor.nnz(); ++i) {
    std::vector<std::uint64_t> cell;
    for (std::size_t mode = 0; mode < tensor.order(); ++mode) cell.push_back(tensor.coordinate(i, mode));
    list.emplace_back(cell, tensor.values[i]);
  }
  std::ranges::sort(list);
  return list;
}

Listed listed(const ArrangedNonzeros& arranged, int order, int mode) {
  Listed list;
  const bool has_fibers = arranged.fiber_ends.size() > 0;
  std::uint64_t item = 0;
  std::uint64_t nonzero = 0;
  for (std::uint64_t target = 0; target < arranged.targets.size(); ++target) {
    for (; item < arranged.target_ends.data()[target]; ++item) {
      const std::uint64_t end = has_fibers ? arranged.fiber_ends.data()[item] : item + 1;
      for (; nonzero < end; ++nonzero) {
        std::vector<std::uint64_t> cell(static_cast<std::size_t>(order));
        cell[static_cast<std::size_t>(mode)] = arranged.targets.data()[target];
        for (std::size_t k = 0; k < arranged.modes.size(); ++k) {
          const bool of_nonzero = k + 1 == arranged.modes.size();
          cell[static_cast<std::size_t>(arranged.modes[k])] = arranged.rows[k].data()[of_nonzero ? nonzero : item];
        }
        list.emplace_back(cell, arranged.values.size() > 0 ? arranged.values.data()[nonzero] : 1.0);
      }
    }
  }
  std::ranges::sort(list);
  return list;
}

CooTensor with_long_fibers(Values values = Values::uniform) {
  return random_tensor({.shape = {3, 4, 2, 300}, .nnz = 5000, .seed = 8, .values = values});
}

TEST(ArrangedNonzeros, AreThoseOfTheChunksInRowsOfEveryMode) {
  for (const std::vector<std::uint64_t>& shape : std::vector<std::vector<std::uint64_t>>{
           {30, 50}, {300, 50, 70}, {3, 4, 2, 300}, {9, 31, 8, 50, 12}, std::vector<std::uint64_t>(16, 32)}) {
    for (const Values values : {Values::uniform, Values::ones}) {
      const CooTensor tensor = random_tensor({.shape = shape, .nnz = 2000, .seed = 1, .values = values, .skew = 2.0});
      const Listed expected = listed(tensor);
      const auto order = static_cast<int>(shape.size());
      for (const int threads : {1, 3}) {
        DecodedCase chunks(tensor, 750, threads);
        for (int mode = 0; mode < order; ++mode) {
          const auto arranged = chunks.arranged(mode, 7, /*splits_rows=*/true);
          ASSERT_TRUE(arranged);
          EXPECT_TRUE(listed(*arranged, order, mode) == expected) << "mode " << mode << " of " << order;
        }
      }
    }
  }
}

TEST(ArrangedNonzeros, KeepTheOrderOfARowAndListTheirOtherRows) {
  // A line has, from its lowest bit on, one bit of each mode and the second of mode 1: lines 2, 4, 7, 10, 13.
  const CooTensor tensor{{2, 4, 2}, {0, 1, 0, 0, 0, 1, 1, 1, 1, 0, 3, 0, 1, 2, 1}, {1, 2, 3, 4, 5}};
  DecodedCase chunks(tensor, 5, 1);
  const auto arranged = chunks.arranged(0, 1, false);
  ASSERT_TRUE(arranged);

  EXPECT_THAT(arranged->modes, ElementsAre(1, 2));
  EXPECT_THAT(numbers(arranged->targets, arranged->targets.size()), ElementsAre(0, 1));
  EXPECT_THAT(numbers(arranged->target_ends, 2), ElementsAre(3, 5));
  const std::vector<double> values(arranged->values.data(), arranged->values.data() + 5);
  EXPECT_THAT(values, ElementsAre(1, 2, 4, 3, 5));
  EXPECT_THAT(numbers(arranged->rows[0], 5), ElementsAre(1, 0, 3, 1, 2));
  EXPECT_THAT(numbers(arranged->rows[1], 5), ElementsAre(0, 1, 0, 1, 1));
}

TEST(ArrangedNonzeros, AreCutIntoEqualPartsThatShareRowsOnlyIfTheyMay) {
  // Mode 0: row 0 has almost all.
  CooTensor tensor = random_tensor({.shape = {40, 6000, 7000}, .nnz = 6000, .seed = 3});
  for (std::size_t i = 0; i < tensor.nnz(); ++i) tensor.coordinates[i * 3] = i % 50 == 0 ? i % 40 : 0;
  DecodedCase chunks(tensor, 10'000, 2);

  const auto split = chunks.arranged(0, 16, true);
  ASSERT_TRUE(split);
  std::uint64_t sharing = 0;
  for (const ArrangedNonzeros::Part& part : split->parts) {
    const std::uint64_t begin = part.begin == 0 ? 0 : split->target_ends.data()[part.begin - 1];
    const std::uint64_t end = split->target_ends.data()[part.end - 1];
    EXPECT_NEAR(static_cast<double>(end - begin), 6000 / 16.0, 1);
    sharing += part.shares_first ? 1U : 0U;
  }
  EXPECT_GE(sharing, 14U);
  EXPECT_FALSE(chunks.arranged(0, 16, false)) << "one thread would have all the work";

  const auto whole = chunks.arranged(1, 16, false);
  ASSERT_TRUE(whole);
  std::vector<std::uint32_t> rows = numbers(whole->targets, whole->targets.size());
  EXPECT_EQ(std::ranges::adjacent_find(rows), rows.end()) << "each row has one part";
}

TEST(ArrangedNonzeros, AreInFibersWhereTheseAreLongAndRowsMayBeSplit) {
  DecodedCase long_ones(with_long_fibers(), 10'000, 2);
  DecodedCase short_ones(random_tensor({.shape = {20, 40, 50, 60}, .nnz = 4000, .seed = 9}), 10'000, 2);

  for (int mode = 0; mode < 3; ++mode) {
    const auto arranged = long_ones.arranged(mode, 16, true);
    ASSERT_TRUE(arranged);
    EXPECT_EQ(arranged->modes.back(), 3);
    EXPECT_LE(arranged->fiber_ends.size(), 24U + 16);
    EXPECT_GT(arranged->fiber_ends.size(), 0U);
    EXPECT_EQ(long_ones.arranged(mode, 16, false)->fiber_ends.size(), 0U);
    EXPECT_EQ(short_ones.arranged(mode, 16, true)->fiber_ends.size(), 0U);
  }
  EXPECT_EQ(long_ones.arranged(3, 16, true)->fiber_ends.size(), 0U);
}

TEST(ArrangedNonzeros, TakeNoMoreThanCounted) {
  for (const CooTensor& tensor :
       {with_long_fibers(), random_tensor({.shape = {900, 40, 50}, .nnz = 4000, .seed = 9})}) {
    const auto order = static_cast<int>(tensor.order());
    for (int mode = 0; mode < order; ++mode) {
      const auto arranged = DecodedCase(tensor, 10'000, 2).arranged(mode, 16, true);
      std::uint64_t bytes = mapped_bytes(arranged->targets.size() * 4) +
                            mapped_bytes(arranged->target_ends.size() * 4) +
                            mapped_bytes(arranged->fiber_ends.size() * 4) + mapped_bytes(arranged->values.size() * 8);
      for (const auto& rows : arranged->rows) bytes += mapped_bytes(rows.size() * 4);
      EXPECT_LE(bytes, arranged_bytes(order, tensor.nnz(), tensor.shape[static_cast<std::size_t>(mode)], 16));
    }
  }
}

// Chunks that a backend keeps decoded, as ResidentChunks has them.
TEST(ResidentChunks, ArrangeAGroupOnceThereWereEnoughPassesAndThereIsRoom) {
  const CooTensor tensor = with_long_fibers();
  const std::vector<EncodedChunk> encoded = encode(tensor, 1000);
  SerialExecutor executor;
  const TensorLayout layout(tensor.shape);
  const FrameDecoder decoder(layout, has_fast_pext() ? BitExtraction::pext : BitExtraction::tables);
  std::vector<FrameRing> rings;
  rings.emplace_back(4);
  BackendConfig config{layout, 16};
  const std::vector<std::uint64_t> nnzs(encoded.size(), 1000);
  const std::uint64_t useful = ResidentChunks::useful_bytes(config, nnzs, 1);
  for (const std::uint64_t room : {useful, useful / 4}) {
    config.arranged_bytes = room;
    ResidentChunks kept(decoder, config, executor);
    std::vector<ResidentId> ids;
    for (const EncodedChunk& chunk : encoded) ids.push_back(kept.keep(chunk.view(), Tier::decoded, decoder, rings));
    ResidentChunks::Group& group = *kept.group_of(ids[0]);
    EXPECT_EQ(group.chunks, ids);
    EXPECT_EQ(kept.group_of(kept.keep(encoded[0].view(), Tier::packed, decoder, rings)), nullptr);

    kept.count_pass(0);
    for (int pass = 1; pass <= passes_before_arranging; ++pass) {
      EXPECT_FALSE(kept.may_arrange(group, 0));
      for (int mode = 0; mode < 4; ++mode) kept.count_pass(mode);
    }
    for (int mode = 1; mode < 4; ++mode) kept.count_pass(mode);
    // As if another chunk came in this pass: the group would not be whole.
    kept.keep(encoded[0].view(), Tier::packed, decoder, rings);
    EXPECT_FALSE(kept.may_arrange(group, 0));
    kept.count_pass(3);

    int arranged = 0;
    for (int mode = 0; mode < 4; ++mode) {
      EXPECT_TRUE(kept.may_arrange(group, mode));
      EXPECT_EQ(kept.arranged(group, mode, std::span(ids).first(2), rings), nullptr);
      const ArrangedNonzeros* const made = kept.arranged(group, mode, ids, rings);
      EXPECT_EQ(kept.arranged(group, mode, ids, rings), made);
      EXPECT_EQ(kept.may_arrange(group, mode), made != nullptr);
      EXPECT_EQ(kept.arranged(group, mode, std::vector<ResidentId>(ids.rbegin(), ids.rend()), rings), nullptr);
      arranged += made != nullptr ? 1 : 0;
    }
    if (room == useful) {
      EXPECT_EQ(arranged, 4);
    } else {
      EXPECT_LT(arranged, 4);
    }
  }
}

// The numbers of a pass that may use arranged chunks.
std::vector<double> late_pass(BackendUnderTest& backend, std::span<const ResidentId> chunks, int mode) {
  for (int i = 0; i < passes_before_arranging; ++i) backend.resident_pass(chunks, mode);
  return backend.resident_pass(chunks, mode);
}

class ArrangedPasses : public ::testing::TestWithParam<BackendCase> {};

TEST_P(ArrangedPasses, AddUpWhatALoopDoesInEveryOrderAndRank) {
  const std::vector<std::vector<std::uint64_t>> shapes{
      {30, 50}, {300, 50, 70}, {3, 4, 2, 300}, {9, 31, 8, 50, 12}, {5, 6, 7, 8, 9, 10}};
  constexpr std::array ranks = {1, 5, 16, 33, 70};
  for (std::size_t s = 0; s < shapes.size(); ++s) {
    for (const Values values : {Values::uniform, Values::ones}) {
      const auto tensor = random_tensor({.shape = shapes[s], .nnz = 20'000, .seed = 1, .values = values, .skew = 2.0});
      const auto chunks = encode(tensor, 9000);
      for (const int rank : {ranks[s], ranks[(s + 2) % ranks.size()]}) {
        const auto factors = GetParam().held(random_factors(shapes[s], rank, 2));
        BackendUnderTest backend(GetParam(), shapes[s], rank, plenty, /*arranged_bytes=*/plenty);
        backend.load(factors);
        std::vector<ResidentId> kept;
        for (const EncodedChunk& chunk : chunks) kept.push_back(backend->keep(0, chunk.view(), Tier::decoded));
        for (std::size_t mode = 0; mode < shapes[s].size(); ++mode) {
          EXPECT_THAT(late_pass(backend, kept, static_cast<int>(mode)),
                      RowsNear(coordinate_mttkrp(tensor, factors, rank, mode), GetParam().tolerance()))
              << "mode " << mode << ", rank " << rank;
        }
      }
    }
  }
}

TEST_P(ArrangedPasses, GiveTheBitsOfOneThreadWhereNoRowIsSplit) {
  for (const std::vector<std::uint64_t>& shape :
       std::vector<std::vector<std::uint64_t>>{{40, 50, 60}, {3, 4, 2, 300}, {1000, 900, 800}}) {
    const auto tensor = random_tensor({.shape = shape, .nnz = 20'000, .seed = 3, .skew = 1.5});
    auto chunks = encode(tensor, 5000);
    BackendUnderTest one({1, GetParam().precision}, shape, 17);
    // Without private copies of the output.
    BackendUnderTest backend(GetParam(), shape, 17, GetParam().threads == 1 ? plenty : 0, plenty);
    for (BackendUnderTest* of : {&one, &backend}) of->load(random_factors(shape, 17, 2));
    std::vector<ResidentId> kept;
    for (const EncodedChunk& chunk : chunks) kept.push_back(backend->keep(0, chunk.view(), Tier::decoded));
    for (int mode = 0; mode < static_cast<int>(shape.size()); ++mode) {
      // Every other mode backward, as a fit takes them.
      if (mode > 0) std::ranges::reverse(chunks);
      if (mode > 0) std::ranges::reverse(kept);
      EXPECT_EQ(late_pass(backend, kept, mode), one.pass(chunks, mode)) << "mode " << mode;
    }
  }
}

TEST_P(ArrangedPasses, LeaveNothingOutWhereChunksAreMissingOrMemoryEnds) {
  const std::vector<std::uint64_t> shape{40, 50, 60};
  const auto tensor = random_tensor({.shape = shape, .nnz = 20'000, .seed = 3});
  const auto chunks = encode(tensor, 5000);
  const auto factors = random_factors(shape, 16, 2);
  const std::vector<std::uint64_t> nnzs(4, 5000);
  const std::uint64_t some = host_kind().arranged_bytes({TensorLayout(shape), 16}, nnzs, GetParam().threads) / 2;
  for (const std::uint64_t room : {some, plenty}) {
    BackendUnderTest backend(GetParam(), shape, 16, plenty, room);
    backend.load(factors);
    std::vector<ResidentId> kept;
    for (const EncodedChunk& chunk : chunks) kept.push_back(backend->keep(0, chunk.view(), Tier::decoded));
    for (int mode = 0; mode < 3; ++mode) {
      const auto expected = coordinate_mttkrp(tensor, GetParam().held(factors), 16, static_cast<std::size_t>(mode));
      EXPECT_THAT(late_pass(backend, kept, mode), RowsNear(expected, GetParam().tolerance()));
      // As a pass over all, then one over some.
      const auto first = backend.pass({chunks.data(), 3}, mode);
      const auto some_kept = std::span(kept).first(3);
      const auto again = backend.resident_pass(some_kept, mode);
      double difference = 0;
      for (std::size_t i = 0; i < first.size(); ++i) difference = std::max(difference, std::abs(first[i] - again[i]));
      EXPECT_LE(difference, 100 * GetParam().tolerance());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Host, ArrangedPasses,
                         ::testing::Values(BackendCase{1, Precision::f64}, BackendCase{3, Precision::f64},
                                           BackendCase{2, Precision::f32}, BackendCase{3, Precision::mixed}),
                         [](const auto& which) { return which.param.name(); });

}  // namespace
}  // namespace blco::testing
