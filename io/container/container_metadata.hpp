// Everything that a reader of a container asks of HDF5: the metadata when it opens, and the chunk index where
// the addresses in the table are out of date.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "blco/labels.hpp"
#include "io/container/container.hpp"
#include "io/container/container_table.hpp"

namespace blco {

struct ContainerMetadata {
  ContainerInfo info;
  ChunkTable table;
  std::vector<std::uint64_t> label_bytes;  // per mode, in memory; 0: it has no labels
};

// Reads and checks attributes, columns and chunk table. Where the addresses are not those of HDF5's chunk index
// (h5repack moves every chunk), the table's extents are rebuilt from it. `descriptor` is the same file, opened for
// reading. Errors as of ContainerReader's constructor.
ContainerMetadata read_container_metadata(const std::filesystem::path& path, int descriptor, std::uint64_t file_bytes);

// The labels of all modes, as label_table.hpp has it. Throws Error: corrupt; io.
std::vector<Labels> read_container_labels(const std::filesystem::path& path, const ContainerInfo& info,
                                          std::uint64_t file_bytes);

// Whether HDF5 has this chunk where `extents` says. Throws as rebuild_extents.
bool is_chunk_in_place(const std::filesystem::path& path, const ContainerInfo& info, std::uint64_t chunk,
                       const StoredExtents& extents);

// The extents that HDF5 has now, in place of those of `table`. Throws Error{corrupt} where a chunk is missing or has an
// impossible size, or the file cannot be opened any more.
std::vector<StoredExtents> rebuild_extents(const std::filesystem::path& path, int descriptor, std::uint64_t file_bytes,
                                           const ContainerInfo& info, const ChunkTable& table);

}  // namespace blco
