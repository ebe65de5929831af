// Shares the budget of an ingest out; every term of the sums is named once.
#include "engine/ingest/sort/ingest_plan.hpp"

#include <algorithm>
#include <bit>

#include "blco/payload.hpp"
#include "engine/ingest/sort/coordinate_spool.hpp"
#include "engine/ingest/sort/run_builder.hpp"
#include "engine/ingest/sort/run_store.hpp"
#include "io/container/container_writer.hpp"

namespace blco {
namespace {

// Parts of a budget: the reader's where memory is short, the keys', the program's, and a window of zstd's.
constexpr std::uint64_t reader_part = 8;
constexpr std::uint64_t key_part = 2;
constexpr std::uint64_t program_part = 16;
constexpr std::uint64_t window_part = 64;

// Smaller blocks of text cost more to hand out than to read.
constexpr std::size_t min_block_bytes = std::size_t{16} << 10;

// Larger windows gain nothing; in smaller ones threads wait for each other.
constexpr std::uint64_t max_blocks_in_window = 512;
constexpr std::uint64_t min_blocks_per_thread = 8;

constexpr EncodePlan min_encode_plan{.chunks_at_once = 1, .overlaps = false};

std::uint64_t saturating_subtract(std::uint64_t bytes, std::uint64_t taken) {
  return bytes > taken ? bytes - taken : 0;
}

std::uint64_t sorting_bytes(const IngestSizes& sizes, const EntrySizes& entries) {
  return RunBuilder::memory_bytes(entries.count, entries.coordinate_bytes, sizes.has_high_word(), sizes.threads);
}

std::uint64_t run_bytes(bool has_high_word, std::uint64_t entries) {
  return entries * sorted_entry_bytes(has_high_word);
}

std::uint64_t columns_of(const EncodeSizes& sizes) { return sizes.has_high_word ? 3 : 2; }

std::uint64_t max_chunks_at_once(const EncodeSizes& sizes) {
  return std::min(sizes.chunk_count, static_cast<std::uint64_t>(sizes.threads));
}

// Entries and result of a job that keeps both in memory.
std::uint64_t kept_bytes(const IngestSizes& sizes, const EntrySizes& entries) {
  return run_bytes(sizes.has_high_word(), entries.count) + max_packed_bytes(encode_sizes(sizes, entries.count));
}

// The largest window that `memory_bytes` hold; 0 where that is too small to be worth it.
std::uint64_t max_window_blocks(const EncodeSizes& encode, const RunSizes& runs, std::uint64_t memory_bytes) {
  const std::uint64_t kept = parallel_merge_bytes(encode, runs, 0);
  const std::uint64_t one = parallel_merge_bytes(encode, runs, 1) - kept;
  const std::uint64_t blocks = std::min(saturating_subtract(memory_bytes, kept) / one, max_blocks_in_window);
  return blocks < min_blocks_per_thread * static_cast<std::uint64_t>(encode.threads) ? 0 : blocks;
}

}  // namespace

std::uint64_t IngestBudget::available_bytes() const {
  const std::uint64_t program = has_program ? std::min(max_program_bytes, total_bytes / program_part) : 0;
  return saturating_subtract(total_bytes, program + reordering_bytes + key_bytes + held_bytes);
}

std::uint64_t IngestBudget::total_for(std::uint64_t bytes) const {
  const std::uint64_t others = bytes + reordering_bytes + 2 * key_bytes + held_bytes;
  return others + (has_program ? std::min(max_program_bytes, others / (program_part - 1) + 1) : 0);
}

std::uint64_t max_reader_bytes(std::uint64_t budget_bytes) { return budget_bytes / reader_part; }

std::uint64_t max_key_bytes(std::uint64_t budget_bytes) { return budget_bytes / key_part; }

std::uint64_t max_window_bytes(std::uint64_t budget_bytes) { return budget_bytes / window_part; }

std::size_t plan_block_bytes(std::uint64_t budget_bytes, std::size_t max_bytes, std::uint64_t reader_bytes) {
  const std::uint64_t share = max_reader_bytes(budget_bytes) / reader_bytes;
  return std::max<std::size_t>(min_block_bytes, std::min<std::uint64_t>(max_bytes, share));
}

bool can_sort(const IngestBudget& budget, const IngestSizes& sizes, const EntrySizes& entries) {
  return sorting_bytes(sizes, entries) <= budget.available_bytes();
}

// Sorting takes the entries beside their coordinates, or twice; spilling takes them once beside memory for packing.
bool fits_in_memory(const IngestBudget& budget, const IngestSizes& sizes, const EntrySizes& waiting,
                    const EntrySizes& next, std::uint64_t index_bytes) {
  const EntrySizes all = waiting + next;
  const std::uint64_t packing = RunStore::writing_bytes(sizes.has_high_word(), sizes.threads);
  std::uint64_t needed = std::max(sorting_bytes(sizes, all), run_bytes(sizes.has_high_word(), all.count) + packing);
  if (!sizes.has_layout) {
    needed = std::max(needed, all.coordinate_bytes + CoordinateSpool::working_bytes(sizes.order, sizes.threads));
  }
  return needed + next.coordinate_bytes <=
         saturating_subtract(budget.available_bytes(), budget.reader_bytes + index_bytes);
}

std::uint64_t likely_entries(const IngestSizes& sizes, std::uint64_t entries_so_far) {
  return std::max({entries_so_far, sizes.expected_entries, sizes.chunk_nnz});
}

std::uint64_t min_spilling_bytes(const IngestBudget& budget, const IngestSizes& sizes, std::uint64_t entries,
                                 const EntrySizes& next) {
  const EncodeSizes encode = encode_sizes(sizes, entries);
  const std::uint64_t two_runs = 2 * RunStore::reading_bytes(encode.has_high_word);
  const std::uint64_t encoding = encode_bytes(encode, min_encode_plan) + two_runs;
  const std::uint64_t merging = RunStore::writing_bytes(encode.has_high_word, encode.threads) + two_runs;
  const std::uint64_t one_batch = sorting_bytes(sizes, next) + next.coordinate_bytes + budget.reader_bytes;
  return std::max({encoding, merging, one_batch, 2 * budget.reader_bytes});
}

std::uint64_t budget_with_keys(const IngestSizes& sizes, std::uint64_t key_bytes, std::uint64_t reader_bytes) {
  const IngestBudget budget{.key_bytes = key_bytes, .reader_bytes = reader_bytes};
  const std::uint64_t entries =
      sizes.expected_entries == 0 ? sizes.chunk_nnz : std::min(sizes.chunk_nnz, sizes.expected_entries);
  return key_bytes + std::max((key_part - 1) * key_bytes, min_spilling_bytes(budget, sizes, entries));
}

// Coordinates that are far from uniform pack better than uniform ones, about by half.
std::uint64_t min_disk_bytes(const IngestBudget& budget, const IngestSizes& sizes) {
  const std::uint64_t entries = sizes.expected_entries;
  const std::uint64_t sorting = 2 * run_bytes(sizes.has_high_word(), entries);
  if (sizes.packs_in_memory || sorting <= budget.available_bytes()) return 0;
  const int bits = std::max(1, sizes.line_bits - static_cast<int>(std::bit_width(entries)));
  return entries / 16 * static_cast<std::uint64_t>(bits);
}

// Runs take the place of what is spooled.
std::uint64_t remaining_disk_bytes(std::uint64_t written_bytes, double share_read) {
  return static_cast<std::uint64_t>(static_cast<double>(written_bytes) * std::max(0.0, 1 - share_read) / share_read);
}

EncodeSizes encode_sizes(const IngestSizes& sizes, std::uint64_t entries) {
  EncodeSizes encode;
  encode.has_high_word = sizes.has_high_word();
  encode.chunk_nnz = std::min(sizes.chunk_nnz, entries);
  encode.chunk_count = (entries + encode.chunk_nnz - 1) / encode.chunk_nnz;
  encode.zstd_level = sizes.packs_in_memory ? 0 : sizes.zstd_level;
  encode.threads = sizes.threads;
  return encode;
}

std::uint64_t encode_bytes(const EncodeSizes& sizes, const EncodePlan& plan) {
  const std::uint64_t columns = columns_of(sizes);
  const std::uint64_t payload = max_payload_bytes(sizes.chunk_nnz);
  const std::uint64_t batch = columns * sizes.chunk_nnz * 8;
  // What of a chunk is stored takes the place of its batch's columns, or lies beside them where they are kept. Beside
  // them a payload while it grows and the integers that it is made of, or a payload that is being compressed.
  const std::uint64_t encoding =
      batch + payload + std::max(2 * payload, store_payload_bytes(payload, sizes.zstd_level));
  const std::uint64_t at_work = std::min(plan.chunks_at_once, static_cast<std::uint64_t>(sizes.threads));
  const std::uint64_t beside = plan.overlaps ? 2 * columns * payload : 0;
  return at_work * encoding + (plan.chunks_at_once - at_work) * batch + plan.chunks_at_once * beside;
}

std::optional<EncodePlan> plan_encode(const EncodeSizes& sizes, std::uint64_t memory_bytes) {
  for (std::uint64_t chunks = max_chunks_at_once(sizes); chunks > 0; --chunks) {
    for (const bool overlaps : {true, false}) {
      const EncodePlan plan{chunks, overlaps};
      if (encode_bytes(sizes, plan) <= memory_bytes) return plan;
    }
  }
  return std::nullopt;
}

std::uint64_t max_packed_bytes(const EncodeSizes& sizes) {
  return sizes.chunk_count * columns_of(sizes) * max_payload_bytes(sizes.chunk_nnz);
}

std::uint64_t min_packing_bytes(const IngestSizes& sizes, const EntrySizes& entries) {
  const std::uint64_t encoding = encode_bytes(encode_sizes(sizes, entries.count), min_encode_plan);
  return std::max(sorting_bytes(sizes, entries), kept_bytes(sizes, entries) + encoding);
}

std::optional<EncodePlan> plan_packing(const IngestSizes& sizes, const EntrySizes& entries,
                                       std::uint64_t memory_bytes) {
  if (memory_bytes < min_packing_bytes(sizes, entries)) return std::nullopt;
  return plan_encode(encode_sizes(sizes, entries.count), memory_bytes - kept_bytes(sizes, entries));
}

bool keeps_last_run(const EncodeSizes& encode, const RunSizes& runs, std::uint64_t memory_bytes) {
  const std::uint64_t reading = RunStore::reading_bytes(encode.has_high_word);
  const std::uint64_t kept = run_bytes(encode.has_high_word, runs.last_entries) + runs.spilled_count * reading;
  const std::optional<EncodePlan> beside = plan_encode(encode, saturating_subtract(memory_bytes, kept));
  if (!beside || runs.spilled_count == 0) return beside.has_value();
  return beside == plan_encode(encode, saturating_subtract(memory_bytes, (runs.spilled_count + 1) * reading));
}

MergeLimits plan_merge_limits(const EncodeSizes& encode, std::uint64_t memory_bytes) {
  const std::uint64_t reading = RunStore::reading_bytes(encode.has_high_word);
  const std::uint64_t writing = RunStore::writing_bytes(encode.has_high_word, encode.threads);
  return {.max_final_runs = saturating_subtract(memory_bytes, encode_bytes(encode, min_encode_plan)) / reading,
          .max_merged_runs = saturating_subtract(memory_bytes, writing) / reading};
}

std::uint64_t plan_merged_runs(const MergeLimits& limits, std::uint64_t run_count, std::uint64_t first) {
  return std::min({limits.max_merged_runs, run_count - limits.max_final_runs + 1, run_count - first});
}

MergePlan plan_serial_merge(const EncodeSizes& encode, const RunSizes& runs, std::uint64_t memory_bytes) {
  const std::uint64_t merging = runs.spilled_count * RunStore::reading_bytes(encode.has_high_word);
  const std::uint64_t kept = run_bytes(encode.has_high_word, runs.last_entries) + merging;
  return {.encode = plan_encode(encode, saturating_subtract(memory_bytes, kept)).value()};
}

MergePlan plan_merge(const EncodeSizes& encode, const RunSizes& runs, std::uint64_t memory_bytes) {
  const std::uint64_t available = saturating_subtract(memory_bytes, run_bytes(encode.has_high_word, runs.last_entries));
  const std::uint64_t blocks = runs.count() < 2 ? 0 : max_window_blocks(encode, runs, available / 2);
  if (blocks > 0) {
    const std::uint64_t merging = parallel_merge_bytes(encode, runs, blocks);
    const std::optional<EncodePlan> plan = plan_encode(encode, saturating_subtract(available, merging));
    if (plan && plan->chunks_at_once == max_chunks_at_once(encode)) return {*plan, blocks};
  }
  return plan_serial_merge(encode, runs, memory_bytes);
}

std::uint64_t parallel_merge_bytes(const EncodeSizes& encode, const RunSizes& runs, std::uint64_t window_blocks) {
  // A window's entries lie there decoded, and merged. Vectors grow by doubling, and half a window may wait: equal
  // lines.
  const std::uint64_t block = RunStore::block_bytes(encode.has_high_word);
  const std::uint64_t working =
      RunStore::reading_bytes(encode.has_high_word) * static_cast<std::uint64_t>(encode.threads);
  return 4 * window_blocks * block + runs.count() * 2 * block + working + runs.index_bytes;
}

}  // namespace blco
