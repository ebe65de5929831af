// Shared by writers and readers of our HDF5 files: names and versions; of containers the chunk table, its checksum, and
// HDF5's own chunk index.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/container/container.hpp"
#include "io/hdf5/hdf5_handle.hpp"

namespace blco {

inline constexpr const char* container_format = "blco";
inline constexpr const char* model_format = "blco-model";
inline constexpr const char* tucker_format = "blco-tucker";
inline constexpr std::uint32_t container_version = 1;
inline constexpr std::uint64_t max_name_bytes = 4096;
inline constexpr std::uint64_t max_word_bytes = 256;

// Throws Error{invalid_argument} if the file, which messages call `what`, is not of that version.
void check_version(const Hdf5Place& place, hid_t root, const std::string& what, std::uint32_t supported);

inline constexpr std::array<const char*, column_count> column_names = {"index", "key", "value"};
inline constexpr std::uint32_t zstd_skipped = 2;  // a bit of a filter mask

// The rows of the group /chunks.
struct ChunkTable {
  std::vector<StoredExtents> extents;
  std::vector<std::uint64_t> lower;  // C x N
  std::vector<std::uint64_t> upper;  // C x N
};

// CRC32C of every attribute and small dataset, as FORMAT.md defines it.
std::uint32_t metadata_crc(const ContainerInfo& info, const ChunkTable& table);
// The same of the copy in the order of a mode, beside metadata with the checksum `of_container`.
std::uint32_t copy_crc(std::uint32_t of_container, std::uint64_t mode, const BitModes& bits, const ChunkTable& table);

// The group of the copies, and of one of them.
inline constexpr const char* copies_group = "orders";
inline std::string copy_group(std::uint64_t mode) { return std::string(copies_group) + "/" + std::to_string(mode); }

// Where HDF5 has the chunks of one column; payload_bytes stays zero. HDF5 1.10 takes time quadratic in their number.
// Throws Error{place.on_failure}.
struct IndexedChunk {
  std::uint64_t chunk = 0;
  StoredExtent extent;
};
std::vector<IndexedChunk> read_chunk_index(const Hdf5Place& place, hid_t dataset, const ContainerInfo& info);

// Same for one chunk; an extent of zeros if the chunk is not allocated.
StoredExtent find_chunk(const Hdf5Place& place, hid_t dataset, const ContainerInfo& info, std::uint64_t chunk);

}  // namespace blco
