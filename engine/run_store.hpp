// Sorted runs on disk, packed, in input order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "blco/executor.hpp"
#include "engine/sorted_run.hpp"
#include "io/scratch_file.hpp"

namespace blco {

// Told of every few entries that were written.
using EntriesWritten = std::function<void(std::uint64_t entries)>;

class RunStore {
 public:
  // The runs lie in one file in `folder`. Throws Error{io}.
  RunStore(const std::filesystem::path& folder, const std::string& mark, bool has_key)
      : file_(folder, mark), has_key_(has_key) {}

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

  // Memory of a run that is being read with the least buffer, and that buffer.
  static std::uint64_t reading_bytes(bool has_key) { return block_bytes(has_key) + least_buffer_bytes(has_key); }
  static std::uint64_t block_bytes(bool has_key);
  static std::uint64_t least_buffer_bytes(bool has_key);
  // Memory for packing.
  static std::uint64_t writing_bytes(bool has_key, int threads);

 private:
  struct Extent {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t entries = 0;
  };

  std::unique_ptr<SortedRun> open(const Extent& extent, std::uint64_t buffer_bytes) const;
  std::vector<std::byte> pack(const SortedBatch& block) const;
  void write(const std::vector<std::vector<std::byte>>& records);

  ScratchFile file_;
  bool has_key_;
  std::vector<Extent> runs_;
};

}  // namespace blco
