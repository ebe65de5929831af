// The time of a pass by what it moves: each term worked out by hand.
#include <gtest/gtest.h>

#include <vector>

#include "engine/work/pass_estimate.hpp"
#include "tests/bench/measure/loss_load.hpp"

namespace blco {
namespace {

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

DeclaredGpu round_gpu() {
  DeclaredGpu gpu;
  gpu.l2_bytes = 50'000'000;
  gpu.link_bytes_per_second = 25e9;
  gpu.disk_bytes_per_second = 2e9;
  gpu.memory_bytes_per_second = 2e12;
  gpu.cache_bytes_per_second = 5e12;
  gpu.additions_per_second = 1e11;
  return gpu;
}

TEST(PassEstimate, DividesBytesByBandwidths) {
  const PassSeconds seconds = estimate_pass(large_load(), round_gpu());

  EXPECT_NEAR(seconds.link, 0.12, 1e-12);
  EXPECT_NEAR(seconds.disk, 1.0, 1e-12);
  // 4 + 3 GB of payloads; half of 1e9 x 2 rows of 256 bytes miss a cache of half the factors; the output fits.
  EXPECT_NEAR(seconds.memory, (7e9 + 256e9) / 2e12, 1e-12);
  // 20 bytes a decoded nonzero, 512 of factors, and 256 for each segment.
  EXPECT_NEAR(seconds.cache, (20e9 + 512e9 + 128e9) / 5e12, 1e-12);
  EXPECT_NEAR(seconds.additions, 0.5e9 * 32 / 1e11, 1e-12);
  EXPECT_EQ(seconds.longest(), seconds.disk);
  EXPECT_STREQ(seconds.bound(), "disk");
}

TEST(PassEstimate, AdditionsThatMissTheCacheReadAndWriteMemory) {
  PassLoad load = large_load();
  load.output_bytes = 200'000'000;  // a quarter is cached

  EXPECT_NEAR(estimate_pass(load, round_gpu()).memory, (7e9 + 256e9 + 2 * 128e9 * 0.75) / 2e12, 1e-12);
}

// Link and disk bytes are counted by the plan; rows are read and added once, in parts.
TEST(PassEstimate, SlabsReadChunksOnceEach) {
  PassLoad load = large_load();
  load.chunk_reads = 3;

  const PassSeconds seconds = estimate_pass(load, round_gpu());

  EXPECT_NEAR(seconds.link, 0.12, 1e-12);
  EXPECT_NEAR(seconds.memory, (3 * 4e9 + 3e9 + 256e9) / 2e12, 1e-12);
  EXPECT_NEAR(seconds.cache, (3 * 20e9 + 512e9 + 128e9) / 5e12, 1e-12);
  EXPECT_NEAR(seconds.additions, 0.5e9 * 32 / 1e11, 1e-12);
}

TEST(PassEstimate, FactorsOfFloatAreReadAtHalfTheBytes) {
  PassLoad load = large_load();
  load.factor_number_bytes = 4;
  load.factor_bytes = 50'000'000;

  const PassSeconds seconds = estimate_pass(load, round_gpu());

  // The factors fit now; the output is added to in f64.
  EXPECT_NEAR(seconds.memory, 7e9 / 2e12, 1e-12);
  EXPECT_NEAR(seconds.cache, (20e9 + 256e9 + 128e9) / 5e12, 1e-12);
}

TEST(PassEstimate, ALossPassReadsEveryRowOnceAndAddsToAllOutputs) {
  // Outputs of 25, 50 and 75 MB, of which the cache holds a third; factors of half of that, which fit for two thirds.
  std::vector<PassLoad> loads(3, large_load());
  for (std::size_t mode = 0; mode < loads.size(); ++mode) {
    loads[mode].mode = static_cast<int>(mode);
    loads[mode].factor_number_bytes = 4;
    loads[mode].output_bytes = 25'000'000 * (mode + 1);
  }

  const PassSeconds seconds = estimate_pass(loss_load(loads), round_gpu());

  EXPECT_EQ(seconds.mode, -1);
  EXPECT_NEAR(seconds.link, 0.12, 1e-12);
  EXPECT_NEAR(seconds.disk, 1.0, 1e-12);
  // 3 rows of 128 bytes a nonzero; 1.5e9 segments of 256 bytes.
  EXPECT_NEAR(seconds.memory, (7e9 + 384e9 / 3 + 2 * 384e9 * 2 / 3) / 2e12, 1e-12);
  EXPECT_NEAR(seconds.cache, (20e9 + 384e9 + 384e9) / 5e12, 1e-12);
  EXPECT_NEAR(seconds.additions, 1.5e9 * 32 / 1e11, 1e-12);
}

TEST(PassEstimate, EachResourceBindsWhenItIsTheSlowest) {
  const auto bound_of = [](double DeclaredGpu::*slow) {
    DeclaredGpu gpu = round_gpu();
    gpu.disk_bytes_per_second = 1e15;
    gpu.*slow /= 1e4;
    return std::string(estimate_pass(large_load(), gpu).bound());
  };

  EXPECT_EQ(bound_of(&DeclaredGpu::link_bytes_per_second), "link");
  EXPECT_EQ(bound_of(&DeclaredGpu::memory_bytes_per_second), "device memory");
  EXPECT_EQ(bound_of(&DeclaredGpu::cache_bytes_per_second), "cache");
  EXPECT_EQ(bound_of(&DeclaredGpu::additions_per_second), "atomic additions");
}

TEST(PassEstimate, AFrameHasAtMostASegmentPerRowOrPerNonzero) {
  EXPECT_EQ(max_segments(1000, 1), 4);  // four frames
  EXPECT_EQ(max_segments(1000, 10), 40);
  EXPECT_EQ(max_segments(1024, 255), 1020);
  EXPECT_EQ(max_segments(1000, 1'000'000), 1000);
  EXPECT_EQ(max_segments(1, 7), 1);
}

}  // namespace
}  // namespace blco
