// Records of a scratch file, one after the other, through a buffer of bounded size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "io/file/scratch_file.hpp"

namespace blco {

class RecordStream {
 public:
  // Reads [begin, end) of `file`, which must outlive this, and gives its space back on the way. The buffer grows only
  // where a single record needs more than `buffer_bytes`.
  RecordStream(const ScratchFile& file, std::uint64_t begin, std::uint64_t end, std::uint64_t buffer_bytes);

  // The next record, valid until the next call; empty at the end. Throws Error: io, corrupt.
  std::span<const std::byte> next();

 private:
  std::span<const std::byte> buffered() const;
  void refill();

  const ScratchFile* file_;
  std::uint64_t at_;  // of the file: the first byte that is not in the buffer
  std::uint64_t end_;
  std::uint64_t released_;
  std::vector<std::uint64_t> buffer_;  // words, so that records are aligned
  std::size_t first_ = 0;              // bytes [first_, filled_) of the buffer are still to be taken
  std::size_t filled_ = 0;
};

}  // namespace blco
