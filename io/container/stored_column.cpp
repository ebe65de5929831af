// Reads, decompresses, checks and unshuffles a payload.
#include "io/container/stored_column.hpp"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "blco/error.hpp"
#include "blco/payload.hpp"
#include "io/container/container_table.hpp"
#include "io/file/transfer.hpp"

namespace blco {
namespace {

void decompress(std::span<const std::byte> stored, std::span<std::byte> payload) {
  const std::size_t written = ZSTD_decompress(payload.data(), payload.size(), stored.data(), stored.size());
  if (ZSTD_isError(written)) {
    throw Error(ErrorKind::corrupt, std::string("zstd cannot decompress it: ") + ZSTD_getErrorName(written));
  }
  if (written != payload.size()) throw Error(ErrorKind::corrupt, "it decompresses to another size than was written");
}

}  // namespace

bool may_be_shuffled(const StoredExtent& extent, std::size_t column, std::uint64_t nnz) {
  return column == static_cast<std::size_t>(Column::value) &&
         extent.payload_bytes >= sizeof(PayloadHeader) + sizeof(double) * nnz + payload_padding;
}

bool is_compressed(const StoredExtent& extent) { return (extent.filter_mask & zstd_skipped) == 0; }

std::uint64_t column_scratch_bytes(const StoredExtents& row, std::uint64_t nnz) {
  std::uint64_t bytes = 0;
  for (std::size_t c = 0; c < column_count; ++c) {
    if (is_compressed(row[c])) bytes = std::max(bytes, row[c].stored_bytes);
    if (may_be_shuffled(row[c], c, nnz)) bytes = std::max(bytes, row[c].payload_bytes);
  }
  return bytes;
}

void read_column(int descriptor, const StoredExtent& extent, std::span<std::byte> payload,
                 std::span<std::byte> scratch) {
  if (!is_compressed(extent)) return read_at(descriptor, extent.address, payload);
  const std::span<std::byte> stored = scratch.first(static_cast<std::size_t>(extent.stored_bytes));
  read_at(descriptor, extent.address, stored);
  decompress(stored, payload);
}

void accept_column(std::size_t column, std::uint64_t nnz, std::span<std::byte> payload, std::span<std::byte> scratch) {
  const Codec codec = check_payload(payload, nnz).codec;
  const bool is_value = column == static_cast<std::size_t>(Column::value);
  if ((codec == Codec::line) == is_value) throw Error(ErrorKind::corrupt, "its codec does not belong to this column");
  if (codec == Codec::f64_shuffled) {
    const std::span<std::byte> shuffled = scratch.first(payload.size());
    std::memcpy(shuffled.data(), payload.data(), payload.size());
    unshuffle_f64(shuffled, payload);
  }
}

}  // namespace blco
