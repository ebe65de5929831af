// The plan of an ingest against sums worked by hand, and what must hold of it for any sizes: it keeps its budget, more
// memory never gives a slower encoder, and a refusal names a budget that then works.
//
// The terms of the sums: a frame of 256 entries takes 2064 bytes at most, and a payload 40 beside its frames; so 33'064
// bytes for 4096 entries. A block of a run, 4096 entries, takes 65'536 bytes decoded, and 66'168 packed at most; with a
// key column 98'304 and 99'240.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "engine/ingest/sort/ingest_plan.hpp"

namespace blco {
namespace {

using ::testing::Optional;

constexpr std::uint64_t read_one_run = 65'536 + 66'168;
// A chunk of 4096 nonzeros without zstd: two columns, a payload, and two more while it is made; and where it overlaps,
// two payloads of each column.
constexpr std::uint64_t encode_one_chunk = 2 * 8 * 4096 + 3 * 33'064;
constexpr std::uint64_t overlap_one_chunk = encode_one_chunk + 4 * 33'064;

EncodeSizes small_chunks(std::uint64_t chunk_count = 10, int threads = 1) {
  return {.has_high_word = false, .chunk_nnz = 4096, .chunk_count = chunk_count, .zstd_level = 0, .threads = threads};
}

IngestSizes small_job() {
  IngestSizes sizes;
  sizes.order = 3;
  sizes.line_bits = 40;
  sizes.has_layout = true;
  sizes.chunk_nnz = 4096;
  return sizes;
}

std::uint64_t sorted_bytes(const IngestSizes& sizes) { return sizes.has_high_word() ? 24 : 16; }  // an entry of a run

IngestBudget ingest_budget(std::uint64_t total_bytes, std::uint64_t reader_bytes = 0) {
  IngestBudget budget;
  budget.total_bytes = total_bytes;
  budget.reader_bytes = reader_bytes;
  return budget;
}

TEST(IngestBudget, LeavesWhatReorderingAndKeysDoNotTake) {
  IngestBudget budget{.total_bytes = 1000, .reordering_bytes = 300, .key_bytes = 200, .reader_bytes = 400};

  EXPECT_EQ(budget.available_bytes(), 500);
  budget.key_bytes = 701;
  EXPECT_EQ(budget.available_bytes(), 0);
}

TEST(IngestBudget, TheTotalNamedLeavesRoomForTheProgram) {
  for (std::uint64_t bytes = 1; bytes < 1'000'000'000; bytes += bytes / 3 + 1) {
    IngestBudget budget{.has_program = true, .reordering_bytes = 1000};

    budget.total_bytes = budget.total_for(bytes);

    EXPECT_GE(budget.available_bytes(), bytes) << bytes;
    EXPECT_LE(budget.total_bytes - budget.available_bytes() - 1000, std::uint64_t{4} << 20) << bytes;
  }
}

TEST(IngestBudget, TheTotalNamedWorksAlsoIfTheKeysDouble) {
  IngestBudget budget{.total_bytes = 10, .reordering_bytes = 100, .key_bytes = 30};

  budget.total_bytes = budget.total_for(1000);
  budget.key_bytes *= 2;

  EXPECT_EQ(budget.total_bytes, 1160);
  EXPECT_EQ(budget.available_bytes(), 1000);
}

TEST(IngestPlan, GivesTheReaderAnEighthAndKeysAHalf) {
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  EXPECT_EQ(max_reader_bytes(800), 100);
  EXPECT_EQ(max_key_bytes(800), 400);
  // An eighth of 8 MiB is 64 KiB at 16 bytes each.
  EXPECT_EQ(plan_block_bytes(8 * mebibyte, mebibyte, 16), mebibyte / 16);
  EXPECT_EQ(plan_block_bytes(1024 * mebibyte, mebibyte, 16), mebibyte);
  EXPECT_EQ(plan_block_bytes(1, mebibyte, 16), mebibyte / 64) << "blocks of 16 KiB are the smallest";
}

// So that the next batch, which the reader has made, can still be taken in.
TEST(IngestPlan, WhatIsCollectedCanBeSortedBesideTheReaderAndTheNextBatch) {
  const EntrySizes next{500, 10'000};
  constexpr std::uint64_t index_bytes = 700;
  for (const bool has_layout : {false, true}) {
    for (const int threads : {1, 7}) {
      for (const int line_bits : {40, 65}) {
        IngestSizes sizes = small_job();
        sizes.has_layout = has_layout;
        sizes.threads = threads;
        sizes.line_bits = line_bits;
        bool fitted_before = false;
        for (std::uint64_t total = 100'000; total < 40'000'000; total += total / 5) {
          const EntrySizes waiting{100'000, 2'000'000};
          const bool fits = fits_in_memory(ingest_budget(total, 5000), sizes, waiting, next, index_bytes);
          EXPECT_TRUE(fits || !fitted_before) << "more memory holds less";
          fitted_before = fits;
          if (!fits) continue;
          const std::uint64_t left = total - 5000 - index_bytes - next.coordinate_bytes;
          EXPECT_TRUE(can_sort(ingest_budget(left), sizes, waiting + next)) << total;
          EXPECT_GE(left, (waiting + next).coordinate_bytes + (waiting + next).count * sorted_bytes(sizes));
        }
        EXPECT_TRUE(fitted_before);
      }
    }
  }
}

TEST(IngestPlan, ExpectsTheEntriesOfTheInputAndAWholeChunk) {
  IngestSizes sizes = small_job();
  EXPECT_EQ(likely_entries(sizes, 4095), 4096);
  EXPECT_EQ(likely_entries(sizes, 4097), 4097);
  sizes.expected_entries = 5000;
  EXPECT_EQ(likely_entries(sizes, 4097), 5000);
}

// A million entries are 16 MB, and are sorted beside as much. Their 40 bits of line pack to 20 at least, or half of it.
TEST(IngestPlan, JudgesTheDiskOnlyWhereEntriesWillNotFit) {
  IngestSizes sizes = small_job();
  sizes.expected_entries = 1'000'000;
  EXPECT_EQ(min_disk_bytes(ingest_budget(32'000'000), sizes), 0);
  EXPECT_EQ(min_disk_bytes(ingest_budget(31'999'999), sizes), 1'250'000);
  sizes.line_bits = 10;
  EXPECT_EQ(min_disk_bytes(ingest_budget(31'999'999), sizes), 62'500) << "a bit is the least that is taken";
  sizes.packs_in_memory = true;
  EXPECT_EQ(min_disk_bytes(ingest_budget(1), sizes), 0);
  sizes.packs_in_memory = false;
  sizes.expected_entries = 0;
  EXPECT_EQ(min_disk_bytes(ingest_budget(1), sizes), 0) << "unknown";

  EXPECT_EQ(remaining_disk_bytes(1000, 0.25), 3000);
  EXPECT_EQ(remaining_disk_bytes(1000, 1.5), 0) << "a file may have grown";
}

TEST(IngestPlan, CutsEntriesIntoChunks) {
  IngestSizes sizes = small_job();
  sizes.zstd_level = 3;
  for (const auto& [entries, chunk_nnz, chunk_count] :
       std::vector<std::array<std::uint64_t, 3>>{{1, 1, 1}, {4095, 4095, 1}, {4096, 4096, 1}, {4097, 4096, 2}}) {
    EXPECT_EQ(encode_sizes(sizes, entries).chunk_nnz, chunk_nnz) << entries;
    EXPECT_EQ(encode_sizes(sizes, entries).chunk_count, chunk_count) << entries;
  }
  EXPECT_EQ(encode_sizes(sizes, 1).zstd_level, 3);
  sizes.line_bits = 65;
  sizes.packs_in_memory = true;
  EXPECT_TRUE(encode_sizes(sizes, 1).has_high_word);
  EXPECT_EQ(encode_sizes(sizes, 1).zstd_level, 0) << "in memory nothing is compressed";
}

TEST(EncodePlan, IsTheFastestThatFits) {
  const EncodeSizes sizes = small_chunks(10, 2);
  EXPECT_EQ(plan_encode(sizes, encode_one_chunk - 1), std::nullopt);
  EXPECT_THAT(plan_encode(sizes, encode_one_chunk), Optional(EncodePlan{1, false}));
  EXPECT_THAT(plan_encode(sizes, overlap_one_chunk - 1), Optional(EncodePlan{1, false}));
  EXPECT_THAT(plan_encode(sizes, overlap_one_chunk), Optional(EncodePlan{1, true}));
  EXPECT_THAT(plan_encode(sizes, 2 * encode_one_chunk), Optional(EncodePlan{2, false})) << "threads before overlap";
  EXPECT_THAT(plan_encode(sizes, std::uint64_t{1} << 40), Optional(EncodePlan{2, true}));
  EXPECT_THAT(plan_encode(small_chunks(1, 2), std::uint64_t{1} << 40), Optional(EncodePlan{1, true}));
}

TEST(EncodePlan, KeepsItsMemoryAndMoreNeverGivesFewerChunksAtOnce) {
  for (const std::uint64_t chunk_nnz : {1, 255, 256, 257, 4096, 100'000}) {
    for (const int threads : {1, 2, 7}) {
      for (const int zstd_level : {0, 3}) {
        const EncodeSizes sizes{.has_high_word = true,
                                .chunk_nnz = chunk_nnz,
                                .chunk_count = 5,
                                .zstd_level = zstd_level,
                                .threads = threads};
        const std::uint64_t min_bytes = encode_bytes(sizes, {1, false});
        EXPECT_EQ(plan_encode(sizes, min_bytes - 1), std::nullopt);
        std::uint64_t chunks_before = 0;
        for (std::uint64_t memory = min_bytes; memory < 20 * min_bytes; memory += min_bytes / 7 + 1) {
          const std::optional<EncodePlan> plan = plan_encode(sizes, memory);

          ASSERT_TRUE(plan);
          EXPECT_LE(encode_bytes(sizes, *plan), memory);
          EXPECT_GE(plan->chunks_at_once, chunks_before);
          chunks_before = plan->chunks_at_once;
        }
        EXPECT_EQ(chunks_before, std::min(threads, 5));
      }
    }
  }
}

TEST(PackingPlan, TheMinimumIsTheMinimum) {
  IngestSizes sizes = small_job();
  sizes.packs_in_memory = true;
  for (const std::uint64_t count : {1, 4096, 4097, 100'000}) {
    for (const std::uint64_t coordinate_bytes : {count * 12, count * 500}) {
      const EntrySizes entries{count, coordinate_bytes};
      const std::uint64_t least = min_packing_bytes(sizes, entries);

      EXPECT_TRUE(plan_packing(sizes, entries, least));
      EXPECT_FALSE(plan_packing(sizes, entries, least - 1));
      EXPECT_TRUE(can_sort(ingest_budget(least), sizes, entries));
      EXPECT_GE(least, count * sorted_bytes(sizes) + max_packed_bytes(encode_sizes(sizes, count)));
    }
  }
}

TEST(MergePlan, KeepsTheLastRunWhereTheEncoderIsNoSlower) {
  const EncodeSizes encode = small_chunks();
  const RunSizes alone{.last_entries = 1000};
  EXPECT_TRUE(keeps_last_run(encode, alone, 16'000 + encode_one_chunk));
  EXPECT_FALSE(keeps_last_run(encode, alone, 16'000 + encode_one_chunk - 1));

  const RunSizes third{.spilled_count = 2, .last_entries = 100'000};
  const std::uint64_t enough = 1'600'000 + 2 * read_one_run + overlap_one_chunk;
  EXPECT_TRUE(keeps_last_run(encode, third, enough));
  EXPECT_FALSE(keeps_last_run(encode, third, enough - 1)) << "without it, chunks would be written meanwhile";
  // Spilled, the last run would take a buffer too.
  EXPECT_TRUE(keeps_last_run(small_chunks(10, 2), {2, 0, 10'000}, 2 * (read_one_run + overlap_one_chunk)));
}

TEST(MergePlan, MergesNoMoreRunsThanItMust) {
  EXPECT_EQ(plan_merged_runs({.max_final_runs = 10, .max_merged_runs = 8}, 12, 0), 3);
  EXPECT_EQ(plan_merged_runs({.max_final_runs = 10, .max_merged_runs = 8}, 30, 0), 8);
  EXPECT_EQ(plan_merged_runs({.max_final_runs = 10, .max_merged_runs = 8}, 12, 10), 2) << "only two are left";
}

// What the external sort does with the runs that are there at the end.
struct EndOfInput {
  RunSizes runs;
  MergePlan merge;

  EndOfInput(const EncodeSizes& encode, const RunSizes& given, std::uint64_t memory_bytes) : runs(given) {
    if (!keeps_last_run(encode, runs, memory_bytes)) {
      runs.spilled_count += runs.last_entries > 0 ? 1 : 0;
      runs.last_entries = 0;
      const MergeLimits limits = plan_merge_limits(encode, memory_bytes);
      for (std::uint64_t first = 0; runs.spilled_count > limits.max_final_runs; ++first) {
        if (first + 1 >= runs.spilled_count) first = 0;
        const std::uint64_t merged = plan_merged_runs(limits, runs.spilled_count, first);
        EXPECT_GE(merged, 2);
        EXPECT_LE(merged, limits.max_merged_runs);
        runs.spilled_count -= merged - 1;
      }
    }
    merge = plan_merge(encode, runs, memory_bytes);
  }

  std::uint64_t planned_bytes(const EncodeSizes& encode) const {
    // Decoded, and packed at most.
    const std::uint64_t block = encode.has_high_word ? 98'304 + 99'240 : read_one_run;
    const std::uint64_t merging =
        merge.window_blocks > 0 ? parallel_merge_bytes(encode, runs, merge.window_blocks) : runs.spilled_count * block;
    return merging + runs.last_entries * (encode.has_high_word ? 24 : 16) + encode_bytes(encode, merge.encode);
  }
};

TEST(MergePlan, KeepsItsMemoryAndMoreNeverGivesFewerChunksAtOnce) {
  for (const bool has_high_word : {false, true}) {
    for (const int threads : {1, 2, 5}) {
      for (const std::uint64_t spilled : {0, 1, 2, 9}) {
        const EncodeSizes encode{
            .has_high_word = has_high_word, .chunk_nnz = 20'000, .chunk_count = 8, .threads = threads};
        const RunSizes runs{.spilled_count = spilled, .index_bytes = 4096, .last_entries = 70'001};
        std::uint64_t chunks_before = 0;
        bool merged_in_parallel = false;
        for (std::uint64_t memory = std::uint64_t{5} << 20; memory < std::uint64_t{64} << 20; memory += 99'991) {
          const EndOfInput end(encode, runs, memory);

          EXPECT_LE(end.planned_bytes(encode), memory) << memory;
          EXPECT_GE(end.merge.encode.chunks_at_once, chunks_before) << memory;
          chunks_before = end.merge.encode.chunks_at_once;
          merged_in_parallel = merged_in_parallel || end.merge.window_blocks > 0;
        }
        EXPECT_EQ(chunks_before, threads);
        EXPECT_EQ(merged_in_parallel, spilled > 0);
      }
    }
  }
}

TEST(IngestPlan, RefusalsNameABudgetThatThenWorks) {
  const EntrySizes next{30'000, 900'000};
  for (int combination = 0; combination < 72; ++combination) {
    IngestSizes sizes = small_job();
    sizes.line_bits = std::array{40, 64, 65}[combination % 3];
    sizes.threads = std::array{1, 2, 16}[combination / 3 % 3];
    sizes.chunk_nnz = std::array{1, 256, 20'000, 1'000'000}[combination / 9 % 4];
    sizes.zstd_level = 3;
    IngestBudget budget{.reordering_bytes = 12'345, .key_bytes = 6789};
    budget.reader_bytes = combination < 36 ? 0 : 50'000'000;
    const std::uint64_t likely = likely_entries(sizes, 100'000);

    budget.total_bytes = budget.total_for(min_spilling_bytes(budget, sizes, likely, next));

    EXPECT_LE(min_spilling_bytes(budget, sizes, next.count, next), budget.available_bytes()) << combination;
    EXPECT_LE(min_spilling_bytes(budget, sizes, likely, next), budget.available_bytes()) << combination;
    budget.reader_bytes = 0;
    budget.key_bytes *= 2;
    const EncodeSizes encode = encode_sizes(sizes, likely);
    for (const std::uint64_t spilled : {1, 2, 3, 1000}) {
      const EndOfInput end(encode, {.spilled_count = spilled, .last_entries = 30'000}, budget.available_bytes());

      EXPECT_LE(end.planned_bytes(encode), budget.available_bytes()) << combination << ", " << spilled << " runs";
    }
  }
}

}  // namespace
}  // namespace blco
