// /modes/n/relabelling in a container: the original index of each stored index, as blco/FORMAT.md specifies it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "io/container/container.hpp"
#include "io/hdf5/hdf5_handle.hpp"

namespace blco {

// Writes the dataset and returns its checksum. Throws Error{place.on_failure}.
std::uint32_t write_relabelling(const Hdf5Place& place, hid_t root, std::uint64_t mode,
                                std::span<const std::uint32_t> originals);

// Relabelled modes of a container of this shape, with their checksums. Checks extents and types, but reads no indices.
// Throws Error{place.on_failure}.
std::vector<RelabelledMode> find_relabelled(const Hdf5Place& place, hid_t root, std::span<const std::uint64_t> shape,
                                            std::uint64_t file_bytes);

// Reads the indices and checks the checksum and that they are a permutation. `length` is the mode's length, which
// find_relabelled has checked. Throws Error: io, corrupt.
std::vector<std::uint32_t> read_relabelling(const std::filesystem::path& path, const RelabelledMode& relabelled,
                                            std::uint64_t length);

}  // namespace blco
