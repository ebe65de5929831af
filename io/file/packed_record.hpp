// Columns of integers and values in one block of bytes: the private format of ingest's spill files, packed as in a
// container.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blco/frame.hpp"
#include "blco/raw_vector.hpp"
#include "io/file/scratch_file.hpp"

namespace blco {

// Little-endian. After the header come the byte lengths of the payloads, one per column and one for the values (0: all
// values are 1), then the payloads (FORMAT.md), each padded to a multiple of 8.
struct RecordHeader {
  std::uint32_t magic;
  std::uint32_t crc;  // CRC32C of the rest of the header and of the lengths
  std::uint32_t count;
  std::uint32_t columns;
  std::uint64_t bytes;  // of the whole record, a multiple of 8
};
static_assert(sizeof(RecordHeader) == 24);

// Appends a record of `columns`, each as long as `values`, to `out`. Requires: the size of `out` is a multiple of 8.
void append_record(std::span<const std::span<const std::uint64_t>> columns, FrameCoding coding,
                   std::span<const double> values, std::vector<std::byte>& out);

// Most bytes that append_record appends.
std::uint64_t max_record_bytes(std::uint64_t columns, std::uint64_t count);

// Length of the record that begins with these bytes, at least sizeof(RecordHeader). Throws Error{corrupt}.
std::uint64_t record_bytes(std::span<const std::byte> start);

// Replaces the contents of `columns` and `values` by those of the record. Throws Error{corrupt} for bytes that
// append_record has not written. Requires: `record` is 8-byte aligned.
void read_record(std::span<const std::byte> record, FrameCoding coding,
                 std::span<RawVector<std::uint64_t>* const> columns, RawVector<double>& values);

// Reads the records of a scratch file in order, through a buffer of bounded size.
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
