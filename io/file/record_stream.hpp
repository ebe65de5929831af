// Reads the records of a scratch file in order, through a buffer of bounded size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "io/file/scratch_file.hpp"

namespace blco {

class RecordStream {
 public:
  // Reads [begin, end) of `file`, which must outlive this, and frees the disk space of records already read. The buffer
  // grows beyond `buffer_bytes` only for a larger single record.
  RecordStream(const ScratchFile& file, std::uint64_t begin, std::uint64_t end, std::uint64_t buffer_bytes);

  // Returns the next record, valid until the next call; empty at the end. Throws Error: io, corrupt.
  std::span<const std::byte> next();

 private:
  std::span<const std::byte> buffered() const;
  void refill();

  const ScratchFile* file_;
  std::uint64_t at_;  // in the file: the first byte not yet in the buffer
  std::uint64_t end_;
  std::uint64_t released_;
  std::vector<std::uint64_t> buffer_;  // words, so that records are aligned
  std::size_t first_ = 0;              // bytes [first_, filled_) of the buffer are still to be taken
  std::size_t filled_ = 0;
};

}  // namespace blco
