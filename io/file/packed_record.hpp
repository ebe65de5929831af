// Columns of integers and values as one block of bytes: the private form of what ingest spills, packed as a container
// packs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blco/frame.hpp"
#include "blco/raw_vector.hpp"

namespace blco {

// Little-endian. The length in bytes of every payload follows, one per column and that of the values (0: they are all
// 1), then the payloads (FORMAT.md), each filled up to a multiple of 8.
struct RecordHeader {
  std::uint32_t magic;
  std::uint32_t crc;  // CRC32C of the rest of the header and of the lengths
  std::uint32_t count;
  std::uint32_t columns;
  std::uint64_t bytes;  // of the record, a multiple of 8
};
static_assert(sizeof(RecordHeader) == 24);

// Appends a record of `columns`, each as long as `values`, to `out`, whose size is a multiple of 8.
void append_record(std::span<const std::span<const std::uint64_t>> columns, FrameCoding coding,
                   std::span<const double> values, std::vector<std::byte>& out);

// The most that append_record appends.
std::uint64_t max_record_bytes(std::uint64_t columns, std::uint64_t count);

// The length of the record whose first bytes, at least sizeof(RecordHeader), these are. Throws Error{corrupt}.
std::uint64_t record_bytes(std::span<const std::byte> start);

// Replaces what `columns` and `values` hold by the record's content; `record` is 8-byte aligned. Throws Error{corrupt}
// for what append_record has not written.
void read_record(std::span<const std::byte> record, FrameCoding coding,
                 std::span<RawVector<std::uint64_t>* const> columns, RawVector<double>& values);

}  // namespace blco
