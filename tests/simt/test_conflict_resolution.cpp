// The choice of conflict resolution and the shape of launches, for devices of known limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/conflict_resolution.hpp"

namespace blco::cuda {
namespace {

// Of a multiprocessor, in KiB: memory, which the L1 cache and shared memory share, and the most of it that is shared. A
// block has one KiB less (CUDA C++ Programming Guide, compute capabilities).
struct Chip {
  const char* capability;
  int memory;
  std::uint64_t shared;
};
constexpr Chip chips[] = {
    {"8.0", 192, 164}, {"8.6", 128, 100}, {"9.0", 256, 228}, {"10.0", 256, 228}, {"12.0", 128, 100}};
constexpr Chip capability_9_0 = chips[2];

DeviceLimits limits_of(const Chip& chip) {
  DeviceLimits limits;
  limits.multiprocessors = 132;
  limits.l2_bytes = 50 << 20;
  limits.shared_bytes_per_block = (chip.shared - 1) << 10;
  limits.shared_bytes_per_multiprocessor = chip.shared << 10;
  return limits;
}

DeviceLimits h100() { return limits_of(capability_9_0); }

// By blocks that fit the shared memory of a multiprocessor, of a kernel whose registers suffice for 24 warps.
LaunchPlan plan_on(const Chip& chip, const LaunchRequest& request) {
  return plan_launch(limits_of(chip), request, [&](bool /*stashed*/, unsigned warps, std::size_t shared_bytes) {
    return static_cast<int>(std::min<std::size_t>((chip.shared << 10) / (shared_bytes + (1 << 10)), 24 / warps));
  });
}

LaunchPlan plan(const LaunchRequest& request) { return plan_on(capability_9_0, request); }

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

// What the cache keeps, in KiB: shared memory takes the least of a few sizes that is no less than the percentage.
int cache_beside(const Chip& chip, const LaunchPlan& plan) {
  const double wanted = shared_memory_percent(limits_of(chip), plan) / 100.0 * static_cast<double>(chip.shared);
  for (const int size : {0, 8, 16, 32, 64, 100, 132, 164, 196, 228}) {
    if (size >= wanted) return chip.memory - size;
  }
  return 0;
}

LaunchRequest lines_of(int bits, int order) {
  LaunchRequest request = chunk_of_rows(5000);
  request.order = order;
  request.has_high_word = bits > 64;
  request.tables = tables_of(std::min(bits, 64)) + tables_of(std::max(bits, 64) - 64);
  return request;
}

// Warps of a block, blocks, and KiB of cache, by lines of 48, 64, 70, 82 and 96 bits.
std::string row_of(const Chip& chip, int order) {
  std::string row;
  for (const int bits : {48, 64, 70, 82, 96}) {
    const LaunchPlan chosen = plan_on(chip, lines_of(bits, order));
    row += " " + std::to_string(chosen.shape.warps) + "x" + std::to_string(chosen.blocks_per_multiprocessor) + "+" +
           std::to_string(cache_beside(chip, chosen));
  }
  return row;
}

TEST(ConflictResolution, KeepsWarpsBusyAndLeavesMemoryToTheCacheOnEveryDevice) {
  for (const Chip& chip : chips) {
    SCOPED_TRACE(chip.capability);
    if (chip.shared == 164) {
      EXPECT_EQ(row_of(chip, 3), " 8x3+28 8x3+28 8x2+60 8x2+60 8x2+28");
      EXPECT_EQ(row_of(chip, 4), " 8x2+60 8x2+60 8x2+28 8x2+28 7x2+28");
    } else if (chip.shared == 100) {
      EXPECT_EQ(row_of(chip, 3), " 8x2+28 8x2+28 6x2+28 8x1+28 8x1+28");
      EXPECT_EQ(row_of(chip, 4), " 6x2+28 6x2+28 8x1+28 8x1+28 8x1+28");
    } else {
      EXPECT_EQ(row_of(chip, 3), " 8x3+92 8x3+92 8x3+60 8x3+60 8x3+28");
      EXPECT_EQ(row_of(chip, 4), " 8x3+60 8x3+60 8x2+92 8x2+92 8x2+60");
    }
    EXPECT_EQ(row_of(chip, 5), row_of(chip, 4));
  }
}

// Where half a KiB more for each block would take a warp or memory of the cache.
TEST(ConflictResolution, HasLittleRoomInSomeCases) {
  std::vector<std::string> narrow;
  for (const Chip& chip : {chips[0], chips[1], chips[2]}) {
    for (const int order : {3, 4}) {
      for (const int bits : {48, 64, 70, 82, 96}) {
        const LaunchPlan chosen = plan_on(chip, lines_of(bits, order));
        LaunchPlan larger = chosen;
        larger.shape.shared_bytes += 512;
        const std::uint64_t all = larger.blocks_per_multiprocessor * (larger.shape.shared_bytes + (1 << 10));
        if (all > chip.shared << 10 || cache_beside(chip, larger) < cache_beside(chip, chosen)) {
          narrow.push_back(std::string(chip.capability) + " " + std::to_string(order) + " " + std::to_string(bits));
        }
      }
    }
  }
  EXPECT_THAT(narrow, ::testing::ElementsAre("8.0 4 82", "8.6 3 70", "8.6 4 64", "9.0 3 82", "9.0 4 82"));
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
