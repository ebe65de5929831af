// The labels of modes in our HDF5 files, containers and models alike: /modes/n/labels and /modes/n/label_ends, as
// blco/FORMAT.md specifies them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "blco/labels.hpp"
#include "io/hdf5/hdf5_handle.hpp"

namespace blco {

// Writes those of every mode that has some; `labels` is empty or one per mode. Takes about 3 MiB. The space that they
// take uncompressed is label_file_bytes.
void write_labels(const Hdf5Place& place, hid_t root, std::span<const Labels> labels);
std::uint64_t label_file_bytes(std::span<const Labels> labels);

// Per mode, the memory that its labels take when they are read; 0 for a mode without. Checks types and extents: a mode
// has no labels, or one per coordinate. Throws Error{place.on_failure}.
std::vector<std::uint64_t> find_label_bytes(const Hdf5Place& place, hid_t root, std::span<const std::uint64_t> shape,
                                            std::uint64_t file_bytes);

// Per mode; those of a mode without are empty, and all where no mode has some. Checks the extents before anything is
// allocated, then the checksum. Throws Error{place.on_failure}.
std::vector<Labels> read_labels(const Hdf5Place& place, hid_t root, std::span<const std::uint64_t> shape,
                                std::uint64_t file_bytes);

}  // namespace blco
