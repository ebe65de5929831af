// Keeps sorted runs on disk, packed, in input order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "blco/executor.hpp"
#include "blco/layout.hpp"
#include "engine/ingest/sort/sorted_run.hpp"
#include "io/file/scratch_file.hpp"

namespace blco {

// Called after every few entries that were written, with their number.
using EntriesWritten = std::function<void(std::uint64_t entries)>;

// Where a block of a run lies.
struct PackedBlock {
  LineIndex first;           // its first entry's
  std::uint64_t offset = 0;  // of the record in the file
  std::uint32_t bytes = 0;
  std::uint32_t count = 0;  // of its entries
};

class RunStore {
 public:
  // Creates one file for all runs in `folder`, its name containing `mark`. Throws Error{io}.
  RunStore(const std::filesystem::path& folder, const std::string& mark, bool has_high_word)
      : file_(folder, mark), has_high_word_(has_high_word) {}

  bool has_high_word() const { return has_high_word_; }
  std::size_t run_count() const { return runs_.size(); }
  std::uint64_t bytes_written() const { return file_.bytes(); }

  // Writes a run, which becomes the last. Throws Error{io}.
  void append(const MemoryRun& run, Executor& executor, const EntriesWritten& written);

  // Writes the next block of the only run: up to run_block_entries entries. Throws Error{io}.
  void append_block(const SortedBatch& block);

  // Replaces runs [first, first + count) by one run of their entries, equal lines in input order. Takes reading_bytes()
  // for each and writing_bytes(). Throws Error: io, corrupt.
  void merge(std::size_t first, std::size_t count, Executor& executor, const EntriesWritten& written);

  // Where the blocks of a run lie, in order.
  std::span<const PackedBlock> blocks(std::size_t run) const { return runs_[run]; }
  // Memory of the places of all blocks, and of what is sorted of them.
  std::uint64_t index_bytes() const { return 2 * sizeof(PackedBlock) * block_count_; }

  // Replaces `entries` by the entries of a block. Any thread. Throws Error: io, corrupt.
  void read(const PackedBlock& block, SortedBatch& entries) const;
  // Asks the system to read a block ahead.
  void announce(const PackedBlock& block) const { file_.announce(block.offset, block.bytes); }
  // Frees the disk space of bytes already consumed.
  void release(std::uint64_t offset, std::uint64_t bytes) const { file_.release(offset, bytes); }

  // Memory of a run that is merged on one thread: a block, and its record.
  static std::uint64_t reading_bytes(bool has_high_word) {
    return block_bytes(has_high_word) + record_bytes(has_high_word);
  }
  static std::uint64_t block_bytes(bool has_high_word);
  static std::uint64_t record_bytes(bool has_high_word);
  // Peak memory of packing and writing, on so many threads.
  static std::uint64_t writing_bytes(bool has_high_word, int threads);

 private:
  // A block on its way to the file.
  struct Packed {
    std::vector<std::byte> record;
    LineIndex first;
    std::uint32_t count = 0;
  };

  Packed pack(const SortedBatch& block) const;
  void write(const std::vector<Packed>& packed, std::vector<PackedBlock>& blocks);

  ScratchFile file_;
  bool has_high_word_;
  std::vector<std::vector<PackedBlock>> runs_;
  std::uint64_t block_count_ = 0;
};

}  // namespace blco
