// Labels of modes in our HDF5 files, containers and models: /modes/n/labels and /modes/n/label_ends, as blco/FORMAT.md
// specifies them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "blco/labels.hpp"
#include "io/hdf5/hdf5_handle.hpp"

namespace blco {

// Writes the labels of every mode that has some; `labels` is empty or has one list per mode. Takes about 3 MiB of
// memory. label_file_bytes is their uncompressed size in the file.
void write_labels(const Hdf5Place& place, hid_t root, std::span<const Labels> labels);
std::uint64_t label_file_bytes(std::span<const Labels> labels);

// Per mode, the memory that its labels take once read; 0 for a mode without. Checks types and extents: a mode has no
// labels or one per coordinate. Throws Error{place.on_failure}.
std::vector<std::uint64_t> find_label_bytes(const Hdf5Place& place, hid_t root, std::span<const std::uint64_t> shape,
                                            std::uint64_t file_bytes);

// Labels per mode, empty for a mode without; an empty vector if no mode has any. Checks the extents before it
// allocates, then the checksum. Throws Error{place.on_failure}.
std::vector<Labels> read_labels(const Hdf5Place& place, hid_t root, std::span<const std::uint64_t> shape,
                                std::uint64_t file_bytes);

}  // namespace blco
