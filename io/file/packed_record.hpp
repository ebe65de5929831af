// Columns of integers and values in one block of bytes: the private format of ingest's spill files, packed as in a
// container.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blco/frame.hpp"
#include "blco/raw_vector.hpp"

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

}  // namespace blco
