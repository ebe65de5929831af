// MTTKRPs of chunks in the order of their own mode, against a loop over coordinates and against natural passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "blco/error.hpp"
#include "kernels/host/sorted_pass.hpp"
#include "tests/kernels/backend_cases.hpp"
#include "tests/random_tensor.hpp"

namespace blco::testing {
namespace {

// A part of a chunk is no shorter than this: longer chunks have several.
constexpr std::uint64_t part_nnz = tile_frames * frame_entries;

// A tensor, the mode whose order its chunks have, and the mode at the bottom of that; -1: none.
struct Sorted {
  CooTensor tensor;
  int mode = 0;
  int bottom = -1;
  std::vector<EncodedChunk> chunks;

  Sorted(CooTensor of, int by, int lowest, std::uint64_t chunk_nnz) : tensor(std::move(of)), mode(by), bottom(lowest) {
    const TensorLayout layout(tensor.shape, bits());
    chunks = encode(in_order_of(tensor, layout), chunk_nnz, layout, mode);
  }

  BitModes bits() const { return bit_modes_of(tensor.shape, mode, bottom); }
  BackendConfig config(int rank, Precision precision = Precision::f64) const {
    BackendConfig config{.layout = TensorLayout(tensor.shape), .rank = rank, .precision = precision};
    config.orders.resize(tensor.order());
    config.orders[static_cast<std::size_t>(mode)] = bits();
    return config;
  }
};

// Fibers of 8 to 32 nonzeros along mode 1, and some of one.
CooTensor with_fibers(const std::vector<std::uint64_t>& shape, std::uint64_t fibers) {
  CooTensor tensor = random_tensor({.shape = shape, .nnz = fibers, .seed = 21, .values = Values::counts});
  const std::size_t order = shape.size();
  for (std::size_t f = 0, count = tensor.nnz(); f < count; ++f) {
    const std::size_t more = f % 5 == 0 ? 0 : 7 + f % 25;
    for (std::size_t i = 1; i <= more; ++i) {
      for (std::size_t m = 0; m < order; ++m) {
        const std::uint64_t coordinate = tensor.coordinate(f, m);
        tensor.coordinates.push_back(m == 1 ? (coordinate + i) % shape[1] : coordinate);
      }
      tensor.values.push_back(static_cast<double>(1 + i % 4));
    }
  }
  return coalesce(tensor);
}

std::vector<double> sorted_pass(const Sorted& sorted, const BackendConfig& config, int threads,
                                std::span<const std::vector<double>> factors, Tier tier = Tier::streamed) {
  BackendUnderTest backend(threads, config);
  backend.load(factors);
  if (tier == Tier::streamed) return backend.pass(sorted.chunks, sorted.mode);
  std::vector<ResidentId> kept;
  backend->begin_pass(sorted.mode);
  for (const EncodedChunk& chunk : sorted.chunks) {
    kept.push_back(backend->keep(0, chunk.view(), tier));
    backend->submit_resident(kept.back());
  }
  backend->finish_pass();
  return backend.resident_pass(kept, sorted.mode);
}

class SortedPasses : public ::testing::TestWithParam<BackendCase> {
 protected:
  void expect_mttkrp(const Sorted& sorted, int rank) {
    const auto factors = random_factors(sorted.tensor.shape, rank, 11);
    const auto expected =
        coordinate_mttkrp(sorted.tensor, GetParam().held(factors), rank, static_cast<std::size_t>(sorted.mode));
    const auto found = sorted_pass(sorted, sorted.config(rank, GetParam().precision), GetParam().threads, factors);
    EXPECT_THAT(found, RowsNear(expected, GetParam().tolerance()))
        << "mode " << sorted.mode << " over " << sorted.bottom << ", rank " << rank << ", order "
        << sorted.tensor.order();
  }
};

TEST_P(SortedPasses, EqualTheDefinitionInEveryOrderOfEveryMode) {
  const std::vector<std::uint64_t> lengths{19, 7, 33, 5, 12};
  for (std::size_t order = 1; order <= lengths.size(); ++order) {
    const std::vector<std::uint64_t> shape(lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(order));
    const auto tensor = random_tensor({.shape = shape, .nnz = 900, .seed = order});
    for (int mode = 0; mode < static_cast<int>(order); ++mode) {
      for (int bottom = -1; bottom < static_cast<int>(order); ++bottom) {
        if (bottom != mode) expect_mttkrp(Sorted(tensor, mode, bottom, 500), 5);
      }
    }
  }
}

TEST_P(SortedPasses, EqualTheDefinitionAtAnyRank) {
  const auto tensor = random_tensor({.shape = {40, 31, 57}, .nnz = 3000, .seed = 2});

  for (const int rank : {1, 2, 3, 4, 8, 9, 16, 17, 24, 32, 33, 64, 65, 100, 136}) {
    expect_mttkrp(Sorted(tensor, 1, -1, 1000), rank);
    expect_mttkrp(Sorted(tensor, 2, 0, 1000), rank);
  }
}

TEST_P(SortedPasses, AddUpFibersAtAnyRank) {
  const auto tensor = with_fibers({12, 40, 30}, 300);
  ASSERT_GT(tensor.nnz(), 10 * min_sorted_fiber_nnz);
  for (const int rank : {1, 2, 3, 4, 8, 9, 16, 17, 24, 32, 33, 64, 65, 100, 136}) {
    expect_mttkrp(Sorted(tensor, 0, 1, 1000), rank);
  }
  const auto of_order_5 = with_fibers({9, 40, 12, 7, 11}, 600);
  for (const int rank : {1, 16, 40}) expect_mttkrp(Sorted(of_order_5, 2, 1, 3000), rank);
}

// Rows that begin in one part, or chunk, and end in another; one that fills several.
TEST_P(SortedPasses, AddUpRowsThatSeveralPartsShare) {
  const auto tensor = random_tensor({.shape = {9, 300, 200}, .nnz = 8 * part_nnz, .seed = 3, .skew = 3});

  for (const int bottom : {-1, 1, 2}) {
    expect_mttkrp(Sorted(tensor, 0, bottom, 5 * part_nnz + 100), 6);
    expect_mttkrp(Sorted(tensor, 0, bottom, part_nnz + 1), 6);
  }
  expect_mttkrp(Sorted(tensor, 2, 1, 3 * part_nnz - 1), 6);
}

TEST_P(SortedPasses, TakeModesOfOneIndexAndFactorsBeyondTheCaches) {
  expect_mttkrp(Sorted(random_tensor({.shape = {1, 50, 60}, .nnz = 1500, .seed = 4}), 0, 2, 700), 3);
  expect_mttkrp(Sorted(random_tensor({.shape = {50, 1, 60}, .nnz = 1500, .seed = 4}), 0, 1, 700), 3);
  expect_mttkrp(Sorted(random_tensor({.shape = {300, 90'000, 100'000}, .nnz = 20'000, .seed = 5}), 0, 1, 9000), 16);
}

// No line of 64 bits tells all rows.
TEST_P(SortedPasses, TakeLinesOfMoreThan64Bits) {
  const auto tensor = random_tensor({.shape = {8192, 8192, 8192, 8192, 8192}, .nnz = 10'000, .seed = 6, .skew = 4});

  for (const int bottom : {-1, 0, 4}) expect_mttkrp(Sorted(tensor, 2, bottom, 6000), 5);
}

INSTANTIATE_TEST_SUITE_P(Host, SortedPasses,
                         ::testing::Values(BackendCase{1, Precision::f64}, BackendCase{1, Precision::f32},
                                           BackendCase{1, Precision::mixed}, BackendCase{2, Precision::f64},
                                           BackendCase{3, Precision::f32}, BackendCase{3, Precision::mixed}),
                         [](const auto& which) { return which.param.name(); });

TEST(SortedPass, HasTheSameBitsForAnyNumberOfThreadsAndInEveryTier) {
  const auto tensor = with_fibers({60, 40, 90}, 1500);
  ASSERT_GT(tensor.nnz(), 5 * part_nnz);
  const auto factors = random_factors(tensor.shape, 7, 1);
  for (const int bottom : {-1, 1}) {
    const Sorted sorted(tensor, 0, bottom, 4 * part_nnz);
    const auto expected = sorted_pass(sorted, sorted.config(7), 1, factors);
    for (const int threads : {1, 2, 3, 5}) {
      for (const Tier tier : {Tier::streamed, Tier::packed, Tier::decoded}) {
        EXPECT_EQ(sorted_pass(sorted, sorted.config(7), threads, factors, tier), expected) << threads;
      }
    }
  }
}

// In a row the other modes' coordinates have one order: each row's terms are added one by one, as they come.
TEST(SortedPass, WithoutFibersAndPartsHasTheBitsOfANaturalPass) {
  for (const std::vector<std::uint64_t>& shape : {std::vector<std::uint64_t>{30, 20, 50}, {9, 8, 30, 7}, {40, 60}}) {
    const auto tensor = random_tensor({.shape = shape, .nnz = 3000, .seed = 8});
    const auto factors = random_factors(shape, 9, 2);
    BackendUnderTest natural(1, {.layout = TensorLayout(shape), .rank = 9});
    natural.load(factors);
    for (int mode = 0; mode < static_cast<int>(shape.size()); ++mode) {
      const auto expected = natural.pass(encode(tensor, 1000), mode);
      const Sorted sorted(tensor, mode, -1, part_nnz);
      EXPECT_EQ(sorted_pass(sorted, sorted.config(9), 1, factors), expected) << mode;
    }
  }
}

TEST(SortedPass, ReadsRowsByTablesToo) {
  const auto tensor = random_tensor({.shape = {60, 40, 90}, .nnz = 6000, .seed = 9});
  const Sorted sorted(tensor, 1, -1, 6000);
  const auto factors = random_factors(tensor.shape, 4, 3);
  const auto expected = sorted_pass(sorted, sorted.config(4), 1, factors);
  FactorSet<FactorMatrix<double, double>> matrices;
  for (std::size_t n = 0; n < factors.size(); ++n) {
    matrices.add(false, [&] { return FactorMatrix<double, double>(tensor.shape[n], 4); });
    const auto rows = matrices[static_cast<int>(n)].rows();
    for (std::uint64_t i = 0; i < tensor.shape[n]; ++i) std::copy_n(&factors[n][i * 4], 4, rows.row(i));
  }
  ThreadExecutor executor(2);
  std::vector<FrameRing> rings;
  for (int thread = 0; thread < 2; ++thread) rings.emplace_back(3);
  SortedPass<double, double> pass(sorted.config(4), BitExtraction::tables, matrices, executor);
  RowMatrix<double> output(40, 4);

  for (const EncodedChunk& chunk : sorted.chunks) pass.add(pass.decoder(1).open(chunk.view()), 1, view(output), rings);

  EXPECT_EQ(std::vector<double>(output.row(0), output.row(0) + 160), expected);
}

// Runs a pass over one chunk whose entries are in the order of `moved`, but for the name in that of mode 0.
void expect_refused(const CooTensor& moved, std::size_t nnz) {
  const BitModes bits = bit_modes_of(moved.shape, 0);
  const EncodedChunk chunk = encode_chunk(moved, 0, nnz, 5, TensorLayout(moved.shape, bits), /*sorted_by=*/0);
  BackendConfig config{.layout = TensorLayout(moved.shape), .rank = 3};
  config.orders.resize(moved.order());
  config.orders[0] = bits;
  BackendUnderTest backend(1, config);
  backend.load(random_factors(moved.shape, 3, 1));
  backend->begin_pass(0);
  try {
    backend->submit(0, chunk.view());
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::corrupt);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("chunk 5 of the copy in the order of mode 0"));
  }
  backend->finish_pass();
}

// What lies in between would otherwise be taken for rows of the first one, and be added outside of its place.
TEST(SortedPass, RefusesLinesInAnotherOrder) {
  const std::vector<std::vector<std::uint64_t>> shapes{{60'000, 40, 90}, {60'000, 8192, 8192, 8192, 8192}};
  for (const std::vector<std::uint64_t>& shape : shapes) {
    const auto tensor = random_tensor({.shape = shape, .nnz = 4 * part_nnz, .seed = 10});
    const CooTensor in_order = in_order_of(tensor, TensorLayout(shape, bit_modes_of(shape, 0)));
    const std::size_t order = shape.size();
    // Neighbours in a frame, frames of a tile, and parts: entry i goes where entry j was, and the other way round.
    const std::pair<std::size_t, std::size_t> swaps[] = {
        {0, 1}, {5, 100}, {frame_entries + 3, frame_entries + 4}, {10, 3 * frame_entries}, {0, 2 * part_nnz + 300}};
    for (const auto& [i, j] : swaps) {
      SCOPED_TRACE(std::to_string(order) + " modes, " + std::to_string(i) + " and " + std::to_string(j));
      CooTensor moved = in_order;
      for (std::size_t m = 0; m < order; ++m)
        std::swap(moved.coordinates[i * order + m], moved.coordinates[j * order + m]);
      if (moved.coordinate(i, 0) != moved.coordinate(j, 0)) expect_refused(moved, 3 * part_nnz);
    }
    CooTensor first_again = in_order;  // rows 5, 0, ..., 0, 5
    for (std::size_t e = 0; e < frame_entries; ++e) {
      first_again.coordinates[e * order] = e == 0 || e + 1 == frame_entries ? 5 : 0;
    }
    expect_refused(first_again, frame_entries);
    for (std::size_t e = 1; e + 1 < frame_entries; ++e) first_again.coordinates[e * order] = e == 1 ? 59'999 : 5;
    expect_refused(first_again, frame_entries);
  }
}

// Of a loss pass, terms and weights; against the same of natural chunks.
TEST(SortedPass, AddsUpTermsAndWeights) {
  const std::vector<std::vector<std::uint64_t>> shapes{{60, 40, 90}, {8192, 8192, 8192, 8192, 8192}};
  for (const std::vector<std::uint64_t>& shape : shapes) {
    const auto tensor = with_fibers(shape, 1000);
    const Sorted sorted(tensor, 2, 1, 2 * part_nnz);
    auto factors = random_factors(shape, 5, 2);
    for (auto& factor : factors) {
      for (double& number : factor) number = std::abs(number);
    }
    BackendConfig config = sorted.config(5);
    config.loss_passes = true;
    const EntryFunction ratio{.rule = EntryRule::ratio, .floor = 1e-3};
    for (const int threads : {1, 3}) {
      BackendUnderTest backend(threads, config);
      backend.load(factors);
      const auto run = [&](const std::vector<EncodedChunk>& chunks, ModeSet outputs) {
        backend->begin_pass(PassRequest(ratio, outputs));
        for (const EncodedChunk& chunk : chunks) backend->submit(0, chunk.view());
        backend->finish_pass();
        return backend->sum_of_terms();
      };
      const double expected_terms = run(encode(tensor, 2 * part_nnz), mode_bit(2));
      const std::vector<double> expected = backend.output(2);

      EXPECT_NEAR(run(sorted.chunks, 0), expected_terms, 1e-9 * std::abs(expected_terms));
      EXPECT_NEAR(run(sorted.chunks, mode_bit(2)), expected_terms, 1e-9 * std::abs(expected_terms));
      const std::vector<double> found = backend.output(2);
      for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-9 * (1 + expected[i])) << i;
    }
  }
}

TEST(SortedPass, ServesTheOutputOfItsModeAlone) {
  const auto tensor = random_tensor({.shape = {6, 4, 9}, .nnz = 100, .seed = 11});
  const Sorted sorted(tensor, 0, -1, 100);
  BackendConfig config = sorted.config(3);
  config.loss_passes = true;
  BackendUnderTest backend(1, config);
  const EncodedChunk& chunk = sorted.chunks.front();
  for (const PassRequest& request :
       {PassRequest(1), PassRequest(EntryFunction{.rule = EntryRule::model}, mode_bit(1))}) {
    backend->begin_pass(request);
    EXPECT_THROW(backend->submit(0, chunk.view()), Error);
    backend->finish_pass();
  }
  BackendConfig without_losses = sorted.config(3);
  BackendUnderTest other(1, without_losses);
  other->begin_pass(PassRequest(EntryFunction{.rule = EntryRule::model}, mode_bit(0)));
  EXPECT_THROW(other->submit(0, chunk.view()), Error);
  other->finish_pass();
  EncodedChunk of_none = chunk;
  of_none.sorted_by = 2;
  backend->begin_pass(2);
  EXPECT_THROW(backend->submit(0, of_none.view()), Error);
  backend->finish_pass();
}

TEST(SortedPass, NeedsNoCopiesOfTheOutput) {
  const std::vector<std::uint64_t> shape{2000, 3000, 4000};
  BackendConfig config{.layout = TensorLayout(shape), .rank = 16};
  const std::uint64_t natural = host_kind().footprint(config, 2).host.bytes();
  for (int mode = 0; mode < 3; ++mode) config.orders.push_back(bit_modes_of(shape, mode));

  config.natural_chunks = false;

  EXPECT_EQ(host_kind().useful_private_bytes(config, 2), 0U);
  EXPECT_LT(host_kind().footprint(config, 2).host.bytes(), natural);
}

}  // namespace
}  // namespace blco::testing
