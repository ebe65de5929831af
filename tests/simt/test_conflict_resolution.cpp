// The choice of conflict resolution and the shape of launches, for devices of known limits.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "kernels/cuda/conflict_resolution.hpp"

namespace blco::cuda {
namespace {

DeviceLimits h100() {
  DeviceLimits limits;
  limits.multiprocessors = 132;
  limits.l2_bytes = 50 << 20;
  limits.shared_bytes_per_block = 227 << 10;
  limits.shared_bytes_per_multiprocessor = 228 << 10;
  return limits;
}

// Blocks that fit the shared memory of a multiprocessor, of a kernel whose registers suffice for 24 warps.
int by_arithmetic(bool /*stashed*/, unsigned warps, std::size_t shared_bytes) {
  return static_cast<int>(
      std::min<std::size_t>(h100().shared_bytes_per_multiprocessor / (shared_bytes + (1 << 10)), 24 / warps));
}

LaunchPlan plan(const LaunchRequest& request) { return plan_launch(h100(), request, by_arithmetic); }

LaunchRequest chunk_of_rows(std::uint64_t rows) {
  LaunchRequest request;
  request.order = 3;
  request.tables = 8;
  request.frames = 4096;
  request.rows = {1000, 1000 + rows - 1};
  request.bytes_of_row = 32 * sizeof(double);
  return request;
}

TEST(ConflictResolution, IsRegisterBasedUnlessHierarchicalIsAskedFor) {
  EXPECT_EQ(plan(chunk_of_rows(5)).stash_rows, 0U);
  EXPECT_EQ(plan(chunk_of_rows(1'000'000)).stash_rows, 0U);

  LaunchRequest request = chunk_of_rows(5);
  request.conflict_resolution = ConflictResolution::hierarchical;
  EXPECT_EQ(plan(request).stash_rows, 5U);
  EXPECT_EQ(plan(request).stash_first, 1000U);

  request = chunk_of_rows(1'000'000);
  request.conflict_resolution = ConflictResolution::hierarchical;
  EXPECT_EQ(plan(request).stash_rows, 256U) << "64 KiB of rows of 256 bytes";
}

TEST(ConflictResolution, FallsBackToRegistersWhereNoRowFitsTheStash) {
  LaunchRequest request = chunk_of_rows(5);
  request.conflict_resolution = ConflictResolution::hierarchical;
  request.bytes_of_row = 128 << 10;

  EXPECT_EQ(plan(request).stash_rows, 0U);
}

TEST(ConflictResolution, KeepsABlockWithinTheSharedMemoryOfItsDevice) {
  for (int order = 1; order <= max_order; ++order) {
    for (const bool has_high_word : {false, true}) {
      for (const std::uint64_t rows : {1, 100, 5000}) {
        LaunchRequest request = chunk_of_rows(rows);
        request.conflict_resolution = ConflictResolution::hierarchical;
        request.order = order;
        request.has_high_word = has_high_word;
        request.tables = 11;

        const LaunchPlan chosen = plan(request);

        EXPECT_LE(chosen.shape.shared_bytes, h100().shared_bytes_per_block);
        EXPECT_EQ(chosen.shape.shared_bytes, table_bytes(11) + chosen.shape.warps * tile_bytes(order, has_high_word) +
                                                 chosen.stash_rows * request.bytes_of_row);
      }
    }
  }
}

TEST(ConflictResolution, KeepsMultiprocessorsBusyInTheUsualCase) {
  const LaunchPlan chosen = plan(chunk_of_rows(5000));

  EXPECT_EQ(chosen.shape.warps, 8U) << "three blocks of 8 hold as many warps as six of 4, with fewer tables";
  EXPECT_EQ(chosen.shape.blocks, 132U * 3) << "by shared memory alone four blocks would fit, by registers three do";
}

// What the cache of an H100 keeps of 256 KB, in KB: shared memory takes one of a few sizes (CUDA C++ Programming Guide,
// compute capability 9.0).
int cache_beside(const LaunchPlan& plan) {
  const double wanted = shared_memory_percent(h100(), plan) / 100.0 * 228;
  for (const int size : {0, 8, 16, 32, 64, 100, 132, 164, 196, 228}) {
    if (size >= wanted) return 256 - size;
  }
  return 28;
}

TEST(ConflictResolution, LeavesMemoryToTheCacheBeside24Warps) {
  for (int tables = 1; tables <= 11; ++tables) {  // lines of up to 64 bits
    for (const auto& [order, cache] : {std::pair{3, 92}, {4, 60}, {5, 60}}) {
      LaunchRequest request = chunk_of_rows(5000);
      request.order = order;
      request.tables = tables;

      const LaunchPlan chosen = plan(request);

      EXPECT_EQ(chosen.shape.warps * chosen.blocks_per_multiprocessor, 24U) << order << " " << tables;
      EXPECT_GE(cache_beside(chosen), cache) << order << " " << tables;
    }
  }
}

TEST(ConflictResolution, LeavesMemoryToTheCacheWhereTilesHoldKeys) {
  LaunchRequest request = chunk_of_rows(5000);
  request.has_high_word = true;
  request.tables = 12;
  const auto warps_and_cache = [&](int order) {
    request.order = order;
    const LaunchPlan chosen = plan(request);
    return std::pair(chosen.shape.warps * chosen.blocks_per_multiprocessor, cache_beside(chosen));
  };

  EXPECT_EQ(warps_and_cache(3), std::pair(24U, 60));
  EXPECT_EQ(warps_and_cache(4), std::pair(16U, 92)) << "five blocks of 4 warps would leave 28";
  EXPECT_EQ(warps_and_cache(5), std::pair(16U, 92));
}

TEST(ConflictResolution, LeavesMemoryToTheCacheWhereTwoBlocksAreAskedFor) {
  LaunchRequest request = chunk_of_rows(5000);
  request.blocks_per_multiprocessor = 2;

  const LaunchPlan chosen = plan(request);

  EXPECT_EQ(chosen.shape.warps, 8U);
  EXPECT_EQ(chosen.blocks_per_multiprocessor, 2U);
  EXPECT_EQ(chosen.shape.blocks, 132U * 2);
}

TEST(ConflictResolution, TakesSmallBlocksWhereTilesAreLarge) {
  LaunchRequest request = chunk_of_rows(5000);
  request.order = 16;
  request.has_high_word = true;
  request.tables = 11;

  const LaunchPlan chosen = plan(request);

  // A tile takes 22,112 bytes and the tables 5,632: one block of 8 fits, or two of 4, or four of 2.
  EXPECT_EQ(chosen.shape.warps, 8U);
  EXPECT_EQ(chosen.shape.blocks, 132U);
}

TEST(ConflictResolution, LaunchesNoMoreBlocksThanThereAreFrames) {
  LaunchRequest request = chunk_of_rows(5000);
  request.frames = 2;
  EXPECT_EQ(plan(request).shape.blocks, 1U);

  request.frames = 100;
  const LaunchPlan chosen = plan(request);
  EXPECT_EQ(chosen.shape.blocks, (100 + chosen.shape.warps - 1) / chosen.shape.warps);
}

TEST(ConflictResolution, CopiesTheOutputOfShortModesAsOftenAsMemoryAllows) {
  constexpr std::uint64_t output = 1 << 10;

  EXPECT_EQ(copies_of_output(h100(), ConflictResolution::automatic, 131, output, 3 * output), 4);
  EXPECT_EQ(copies_of_output(h100(), ConflictResolution::automatic, 131, output, output - 1), 1);
  EXPECT_EQ(copies_of_output(h100(), ConflictResolution::automatic, 131, output, 100 * output), max_copies);
  EXPECT_EQ(copies_of_output(h100(), ConflictResolution::automatic, 132, output, 100 * output), 1);
  EXPECT_EQ(copies_of_output(h100(), ConflictResolution::register_based, 5, output, 100 * output), 1);
  EXPECT_EQ(copies_of_output(h100(), ConflictResolution::hierarchical, 5000, output, 2 * output), 3);
}

}  // namespace
}  // namespace blco::cuda
