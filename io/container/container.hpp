// The metadata of a BLCO container, as blco/FORMAT.md specifies it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "blco/chunk.hpp"
#include "blco/input_reading.hpp"
#include "blco/layout.hpp"

namespace blco {

// Longer modes cannot be reordered: their indices do not fit 32 bits.
inline constexpr std::uint64_t max_reordered_rows = std::uint64_t{1} << 32;

// A mode whose stored indices differ from the original ones.
struct ReorderedMode {
  std::uint64_t mode = 0;
  std::uint32_t crc32c = 0;  // of its reordering: the original index of each stored index, as u32
};

struct ContainerInfo {
  std::vector<std::uint64_t> shape;
  std::vector<std::string> mode_names;  // one per mode
  std::uint64_t nnz = 0;
  std::uint64_t chunk_nnz = default_chunk_nnz;
  double sum_of_squares = 0;
  std::vector<ReorderedMode> reordered = {};  // by rising mode
  // Of the column that the values came from; empty: default_value_name().
  std::string value_name = {};
  InputReading reading = {};
  // Of a copy in the order of a mode: the mode of each bit of its line indices. Empty: they are in the natural order.
  BitModes bit_modes = {};

  std::uint64_t chunk_count() const { return (nnz + chunk_nnz - 1) / chunk_nnz; }
  std::uint64_t nnz_of_chunk(std::uint64_t chunk) const {
    const std::uint64_t first = chunk * chunk_nnz;
    return nnz - first < chunk_nnz ? nnz - first : chunk_nnz;
  }
};

// Of the line indices. Throws as TensorLayout does.
inline TensorLayout layout_of(const ContainerInfo& info) {
  return info.bit_modes.empty() ? TensorLayout(info.shape) : TensorLayout(info.shape, info.bit_modes);
}

// What a table calls its column of values where nothing else is known: "value", with underscores appended as long as a
// mode has that name.
std::string default_value_name(const std::vector<std::string>& mode_names);

// What a table of this tensor calls it: value_name, or the default, with underscores appended likewise.
std::string value_column_name(const ContainerInfo& info);

// One column of one chunk on disk. All zero: not allocated.
struct StoredExtent {
  std::uint64_t address = 0;        // offset in the file; a hint, may be stale
  std::uint64_t stored_bytes = 0;   // on disk, compressed or not
  std::uint64_t payload_bytes = 0;  // size of the payload as cached, streamed and decoded
  std::uint32_t filter_mask = 0;    // bit 1 set: not compressed by zstd
};
using StoredExtents = std::array<StoredExtent, column_count>;

}  // namespace blco
