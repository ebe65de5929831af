// What a container reader gets from HDF5: the metadata when it opens the file, and the chunk index if the table's
// addresses are stale.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "blco/labels.hpp"
#include "io/container/container.hpp"
#include "io/container/container_table.hpp"

namespace blco {

// The chunks of a container, or of a copy in the order of a mode.
struct StoredChunks {
  std::string group;  // of the file, in which columns and table lie
  ContainerInfo info;
  ChunkTable table;
};

struct ContainerMetadata {
  StoredChunks natural;
  std::map<std::uint64_t, StoredChunks> copies;  // by mode
  std::vector<std::uint64_t> label_bytes;        // per mode, in memory; 0: it has no labels
};

// Reads and checks attributes, columns and chunk tables. If a table's addresses differ from HDF5's chunk index
// (h5repack moves every chunk), rebuilds its extents from that index. `descriptor` is the same file, opened for
// reading. Throws Error as ContainerReader's constructor does.
ContainerMetadata read_container_metadata(const std::filesystem::path& path, int descriptor, std::uint64_t file_bytes);

// Labels of all modes, as in mode_data.hpp. Throws Error: corrupt, io.
std::vector<Labels> read_container_labels(const std::filesystem::path& path, const ContainerInfo& info,
                                          std::uint64_t file_bytes);

// True if HDF5 has this chunk at the place in `extents`. Throws as rebuild_extents does.
bool is_chunk_in_place(const std::filesystem::path& path, const StoredChunks& chunks, std::uint64_t chunk,
                       const StoredExtents& extents);

// Returns HDF5's current extents, to replace those of the table. Throws Error{corrupt} if a chunk is missing or has an
// impossible size, or the file can no longer be opened.
std::vector<StoredExtents> rebuild_extents(const std::filesystem::path& path, int descriptor, std::uint64_t file_bytes,
                                           const StoredChunks& chunks);

}  // namespace blco
