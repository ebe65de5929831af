// Sorted runs on disk, packed, in input order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "blco/executor.hpp"
#include "blco/layout.hpp"
#include "engine/ingest/sorted_run.hpp"
#include "io/file/scratch_file.hpp"

namespace blco {

// Told of every few entries that were written.
using EntriesWritten = std::function<void(std::uint64_t entries)>;

// Where a block of a run lies.
struct PackedBlock {
  LineIndex first;           // its first entry's
  std::uint64_t offset = 0;  // of the record in the file
  std::uint32_t bytes = 0;
  std::uint32_t run = 0;
  std::uint32_t count = 0;  // of its entries
};

class RunStore {
 public:
  // The runs lie in one file in `folder`. Throws Error{io}.
  RunStore(const std::filesystem::path& folder, const std::string& mark, bool has_key)
      : file_(folder, mark), has_key_(has_key) {}

  bool has_key() const { return has_key_; }
  std::size_t run_count() const { return runs_.size(); }
  std::uint64_t entry_count() const;
  std::uint64_t bytes_written() const { return file_.bytes(); }

  // Writes a run behind the others. Throws Error{io}.
  void append(const MemoryRun& run, Executor& executor, const EntriesWritten& written);

  // Makes runs [first, first + count), merged, one run in their place.
  void merge(std::size_t first, std::size_t count, Executor& executor, const EntriesWritten& written);

  // Reads all runs, in their order, with `buffer_bytes` for what is packed of each. The store must outlive them, and
  // what has been read is gone.
  std::vector<std::unique_ptr<SortedRun>> open(std::uint64_t buffer_bytes) const;

  // The blocks of all runs, run by run.
  std::vector<PackedBlock> forecast() const;
  // Memory of their places, and of a copy.
  std::uint64_t index_bytes() const { return 2 * sizeof(PackedBlock) * block_count_; }

  // Replaces `entries` by those of a block. Any thread. Throws Error: io, corrupt.
  void read(const PackedBlock& block, SortedBatch& entries) const;
  // Has the system read a block ahead.
  void announce(const PackedBlock& block) const { file_.announce(block.offset, block.bytes); }
  // Gives the space of what is not read again back.
  void release(std::uint64_t offset, std::uint64_t bytes) const { file_.release(offset, bytes); }

  // Memory of a run that is being read with the least buffer, and that buffer.
  static std::uint64_t reading_bytes(bool has_key) { return block_bytes(has_key) + min_buffer_bytes(has_key); }
  static std::uint64_t block_bytes(bool has_key);
  static std::uint64_t min_buffer_bytes(bool has_key);
  // Memory for packing.
  static std::uint64_t writing_bytes(bool has_key, int threads);

 private:
  struct Extent {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t entries = 0;
    std::vector<PackedBlock> blocks;
  };

  // A block on its way to the file.
  struct Packed {
    std::vector<std::byte> record;
    LineIndex first;
    std::uint32_t count = 0;
  };

  std::unique_ptr<SortedRun> open(const Extent& extent, std::uint64_t buffer_bytes) const;
  Packed pack(const SortedBatch& block) const;
  void write(const std::vector<Packed>& packed, Extent& extent);

  ScratchFile file_;
  bool has_key_;
  std::vector<Extent> runs_;
  std::uint64_t block_count_ = 0;
};

}  // namespace blco
