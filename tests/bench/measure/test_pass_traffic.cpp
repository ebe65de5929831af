// What a pass moves: each term worked out by hand.
#include <gtest/gtest.h>

#include <vector>

#include "tests/bench/measure/pass_traffic.hpp"

namespace blco {
namespace {

constexpr std::uint64_t cache_bytes = 50'000'000;

// A billion nonzeros at 4 bytes, three quarters of them over the link, one half from disk, rank 32, f64.
PassLoad large_load() {
  PassLoad load;
  load.order = 3;
  load.rank = 32;
  load.nnz = 1'000'000'000;
  load.payload_bytes = 4'000'000'000;
  load.link_bytes = 3'000'000'000;
  load.disk_bytes = 2'000'000'000;
  load.segments = 500'000'000;
  load.factor_bytes = 100'000'000;
  load.output_bytes = 25'000'000;
  return load;
}

TEST(PassTraffic, IsPayloadsAndRows) {
  const PassTraffic traffic = traffic_of(large_load(), cache_bytes);

  EXPECT_EQ(traffic.link_bytes, 3e9);
  EXPECT_EQ(traffic.disk_bytes, 2e9);
  // 4 + 3 GB of payloads; half of 1e9 x 2 rows of 256 bytes miss a cache of half the factors; the output fits.
  EXPECT_EQ(traffic.memory_bytes, 7e9 + 256e9);
  // 20 bytes a decoded nonzero, 512 of factors, and 256 for each segment.
  EXPECT_EQ(traffic.cache_bytes, 20e9 + 512e9 + 128e9);
  EXPECT_EQ(traffic.additions, 0.5e9 * 32);
}

TEST(PassTraffic, AdditionsThatMissTheCacheReadAndWriteMemory) {
  PassLoad load = large_load();
  load.output_bytes = 200'000'000;  // a quarter is cached

  EXPECT_EQ(traffic_of(load, cache_bytes).memory_bytes, 7e9 + 256e9 + 2 * 128e9 * 0.75);
}

// Link and disk bytes are counted by the plan; rows are read and added once, in parts.
TEST(PassTraffic, SlabsReadChunksOnceEach) {
  PassLoad load = large_load();
  load.chunk_reads = 3;

  const PassTraffic traffic = traffic_of(load, cache_bytes);

  EXPECT_EQ(traffic.link_bytes, 3e9);
  EXPECT_EQ(traffic.memory_bytes, 3 * 4e9 + 3e9 + 256e9);
  EXPECT_EQ(traffic.cache_bytes, 3 * 20e9 + 512e9 + 128e9);
  EXPECT_EQ(traffic.additions, 0.5e9 * 32);
}

TEST(PassTraffic, FactorsOfFloatAreReadAtHalfTheBytes) {
  PassLoad load = large_load();
  load.factor_number_bytes = 4;
  load.factor_bytes = 50'000'000;

  const PassTraffic traffic = traffic_of(load, cache_bytes);

  // The factors fit now; the output is added to in f64.
  EXPECT_EQ(traffic.memory_bytes, 7e9);
  EXPECT_EQ(traffic.cache_bytes, 20e9 + 256e9 + 128e9);
}

TEST(PassTraffic, ALossPassReadsEveryRowOnceAndAddsToAllOutputs) {
  // Outputs of 25, 50 and 75 MB, of which the cache holds a third; factors of half of that, which fit for two thirds.
  std::vector<PassLoad> loads(3, large_load());
  for (std::size_t mode = 0; mode < loads.size(); ++mode) {
    loads[mode].mode = static_cast<int>(mode);
    loads[mode].factor_number_bytes = 4;
    loads[mode].output_bytes = 25'000'000 * (mode + 1);
  }
  const PassLoad load = loss_load(loads);

  const PassTraffic traffic = traffic_of(load, cache_bytes);

  EXPECT_EQ(load.mode, -1);
  EXPECT_EQ(traffic.link_bytes, 3e9);
  EXPECT_EQ(traffic.disk_bytes, 2e9);
  // 3 rows of 128 bytes a nonzero; 1.5e9 segments of 256 bytes.
  EXPECT_NEAR(traffic.memory_bytes, 7e9 + 384e9 / 3 + 2 * 384e9 * 2 / 3, 1);
  EXPECT_EQ(traffic.cache_bytes, 20e9 + 384e9 + 384e9);
  EXPECT_EQ(traffic.additions, 1.5e9 * 32);
}

TEST(PassTraffic, AFrameHasAtMostASegmentPerRowOrPerNonzero) {
  EXPECT_EQ(max_segments(1000, 1), 4);  // four frames
  EXPECT_EQ(max_segments(1000, 10), 40);
  EXPECT_EQ(max_segments(1024, 255), 1020);
  EXPECT_EQ(max_segments(1000, 1'000'000), 1000);
  EXPECT_EQ(max_segments(1, 7), 1);
}

}  // namespace
}  // namespace blco
