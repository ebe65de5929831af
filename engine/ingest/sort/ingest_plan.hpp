// How an ingest shares out its memory budget, and how much disk it needs: sizes in, plan out; no files, no threads.
//
// The budget covers what grows with the input, the chunks or the threads: the reader with its next batch and its keys,
// coordinates, sorted entries, the tables of reordering, temporary files while they are packed, read and merged, the
// chunks being encoded, and a result that stays in memory. Where files are written, up to 4 MiB of it are for the data
// of libraries, stacks, and what malloc keeps. It does not cover code, which lies in files, and arrays of the caller.
// RunBuilder, RunStore, CoordinateSpool and Reordering say themselves what they take. All that depends on a decision is
// here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace blco {

// The program's own memory, at most.
inline constexpr std::uint64_t max_program_bytes = std::uint64_t{4} << 20;

// Who has how much of the memory of a job.
struct IngestBudget {
  std::uint64_t total_bytes = 0;
  bool has_program = false;            // a sixteenth, at most 4 MiB, is for what no part of the job asks for
  std::uint64_t reordering_bytes = 0;  // for the counts of all indices, later their new numbers
  std::uint64_t key_bytes = 0;         // for the keys read so far, later the labels of the modes
  std::uint64_t held_bytes = 0;        // for chunks that stay in memory
  std::uint64_t reader_bytes = 0;      // for the reader beside its keys; 0 once the input has ended

  // What program, reordering, keys and chunks leave: for sorting, merging and encoding, and for the reader.
  std::uint64_t available_bytes() const;

  // A total that makes so many bytes available, also if the keys double: half of a budget is for keys at most.
  std::uint64_t total_for(std::uint64_t available_bytes) const;
};

// Sizes of the job that are known before its end. Entries are counted before duplicates are coalesced.
struct IngestSizes {
  int threads = 1;
  int order = 0;
  int line_bits = 0;                   // of the layout, or the fewest that it will have
  bool has_layout = false;             // entries can be sorted at once; otherwise they wait for the shape
  std::uint64_t chunk_nnz = 0;         // of a whole chunk
  int zstd_level = 0;                  // of the container
  bool packs_in_memory = false;        // the result stays in memory, and no files are written
  std::uint64_t expected_entries = 0;  // of the input; 0: unknown

  bool has_high_word() const { return line_bits > 64; }
};

// Entries as the reader gives them.
struct EntrySizes {
  std::uint64_t count = 0;
  std::uint64_t coordinate_bytes = 0;  // with their values

  friend EntrySizes operator+(const EntrySizes& a, const EntrySizes& b) {
    return {a.count + b.count, a.coordinate_bytes + b.coordinate_bytes};
  }
};

// What the reader may take where memory is short: an eighth; and its keys beside that: half.
std::uint64_t max_reader_bytes(std::uint64_t budget_bytes);
std::uint64_t max_key_bytes(std::uint64_t budget_bytes);

// The largest window of a zstd stream beyond 8 MiB; nothing else counts it.
std::uint64_t max_window_bytes(std::uint64_t budget_bytes);

// How much text is read at a time: as much as max_reader_bytes() allows at `reader_bytes` for each byte of it, at most
// `max_bytes`, and at least 16 KiB.
std::size_t plan_block_bytes(std::uint64_t budget_bytes, std::size_t max_bytes, std::uint64_t reader_bytes);

// Whether all entries so far can be sorted, with nothing else in memory.
bool can_sort(const IngestBudget& budget, const IngestSizes& sizes, const EntrySizes& entries);

// Whether `next` can join the entries that wait in memory, so that these can still be sorted, and spilled or spooled.
// `index_bytes`: what the store of spilled runs keeps in memory.
bool fits_in_memory(const IngestBudget& budget, const IngestSizes& sizes, const EntrySizes& waiting,
                    const EntrySizes& next, std::uint64_t index_bytes);

// The entries of the whole input as far as is known, and at least a chunk of them.
std::uint64_t likely_entries(const IngestSizes& sizes, std::uint64_t entries_so_far);

// The smallest available_bytes() of a job that spills: for so many entries in all, and for batches as large as `next`.
// Requires: entries > 0.
std::uint64_t min_spilling_bytes(const IngestBudget& budget, const IngestSizes& sizes, std::uint64_t entries,
                                 const EntrySizes& next = {});

// A budget that suffices to sort entries with temporary files, beside keys or labels of this size and a reader that
// takes `reader_bytes` at least: a chunk of entries, or the expected ones where these are fewer.
std::uint64_t budget_with_keys(const IngestSizes& sizes, std::uint64_t key_bytes, std::uint64_t reader_bytes);

// What the temporary files will take at least, judged before the input is read; 0 where none may be needed.
// Requires: sizes.has_layout.
std::uint64_t min_disk_bytes(const IngestBudget& budget, const IngestSizes& sizes);

// What is still to be written after `written_bytes`, as far as these tell. `share_read` of the input: above 0.
std::uint64_t remaining_disk_bytes(std::uint64_t written_bytes, double share_read);

// Sizes that the encoder's memory depends on.
struct EncodeSizes {
  bool has_high_word = false;
  std::uint64_t chunk_nnz = 0;  // of the largest chunk
  std::uint64_t chunk_count = 1;
  int zstd_level = 0;
  int threads = 1;
};

// How many chunks are encoded at a time; and whether they overlap with the writing of those before them, and keep their
// memory for those behind them. A faster plan takes more memory; the chunks are the same.
struct EncodePlan {
  std::uint64_t chunks_at_once = 1;
  bool overlaps = false;

  friend bool operator==(const EncodePlan&, const EncodePlan&) = default;
};

// Requires: entries > 0.
EncodeSizes encode_sizes(const IngestSizes& sizes, std::uint64_t entries);

// Peak memory of the encoder beside its source.
std::uint64_t encode_bytes(const EncodeSizes& sizes, const EncodePlan& plan);

// The fastest plan that takes at most `memory_bytes`; nothing where there is none.
std::optional<EncodePlan> plan_encode(const EncodeSizes& sizes, std::uint64_t memory_bytes);

// All chunks, encoded without zstd, take at most so much.
std::uint64_t max_packed_bytes(const EncodeSizes& sizes);

// The smallest available_bytes() of a job that keeps entries and result in memory.
std::uint64_t min_packing_bytes(const IngestSizes& sizes, const EntrySizes& entries);

// The encoder's plan in such a job; nothing below that minimum.
std::optional<EncodePlan> plan_packing(const IngestSizes& sizes, const EntrySizes& entries, std::uint64_t memory_bytes);

// Sorted runs that wait to be merged.
struct RunSizes {
  std::uint64_t spilled_count = 0;
  std::uint64_t index_bytes = 0;   // what the store of spilled runs keeps in memory
  std::uint64_t last_entries = 0;  // of the last run, where it is in memory; else 0

  std::uint64_t count() const { return spilled_count + (last_entries > 0 ? 1 : 0); }
};

// Whether the last run stays in memory: it does where the encoder is no slower for it.
bool keeps_last_run(const EncodeSizes& encode, const RunSizes& runs, std::uint64_t memory_bytes);

// How many runs one thread can merge at a time. At least 2 each, from min_spilling_bytes() on.
struct MergeLimits {
  std::uint64_t max_final_runs = 0;   // into the encoder
  std::uint64_t max_merged_runs = 0;  // into a longer run on disk
};
MergeLimits plan_merge_limits(const EncodeSizes& encode, std::uint64_t memory_bytes);

// How many runs, from run `first` on, become one: no more than it takes to get down to max_final_runs.
// Requires: first < run_count, and run_count > max_final_runs.
std::uint64_t plan_merged_runs(const MergeLimits& limits, std::uint64_t run_count, std::uint64_t first);

// How the runs become the encoder's source.
struct MergePlan {
  EncodePlan encode;
  std::uint64_t window_blocks = 0;  // that all threads merge at a time; 0: one thread merges
};

// All threads merge where a useful window fits beside a chunk for every thread, else one. Requires: at most
// max_final_runs spilled runs, and a last run only if keeps_last_run(). plan_serial_merge(): with one thread in any
// case.
MergePlan plan_merge(const EncodeSizes& encode, const RunSizes& runs, std::uint64_t memory_bytes);
MergePlan plan_serial_merge(const EncodeSizes& encode, const RunSizes& runs, std::uint64_t memory_bytes);

// Peak memory of merging on all threads, with windows of so many blocks.
std::uint64_t parallel_merge_bytes(const EncodeSizes& encode, const RunSizes& runs, std::uint64_t window_blocks);

}  // namespace blco
