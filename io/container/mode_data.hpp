// What our HDF5 files keep of their modes, as blco/FORMAT.md specifies it: how they were read and, in /modes/n, labels,
// in containers and models, and the reordering, in containers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "blco/input_reading.hpp"
#include "blco/labels.hpp"
#include "io/container/container.hpp"
#include "io/hdf5/hdf5_handle.hpp"

namespace blco {

// Attributes of the root. Throw Error{place.on_failure}.
void write_reading(const Hdf5Place& place, hid_t root, const InputReading& reading);
InputReading read_reading(const Hdf5Place& place, hid_t root, std::size_t order);

// Writes the labels of every mode that has some; `labels` is empty or has one list per mode. Takes about 3 MiB of
// memory; uncompressed, they take memory_bytes(labels) of the file.
void write_labels(const Hdf5Place& place, hid_t root, std::span<const Labels> labels);

// Per mode, the memory that its labels take once read; 0 for a mode without. Checks types and extents: a mode has no
// labels or one per coordinate. Throws Error{place.on_failure}.
std::vector<std::uint64_t> find_label_bytes(const Hdf5Place& place, hid_t root, std::span<const std::uint64_t> shape,
                                            std::uint64_t file_bytes);

// Labels per mode, empty for a mode without; an empty vector if no mode has any. Checks the extents before it
// allocates, then the checksum. Throws Error{place.on_failure}.
std::vector<Labels> read_labels(const Hdf5Place& place, hid_t root, std::span<const std::uint64_t> shape,
                                std::uint64_t file_bytes);

// Writes the dataset and returns its checksum. Throws Error{place.on_failure}.
std::uint32_t write_reordering(const Hdf5Place& place, hid_t root, std::uint64_t mode,
                               std::span<const std::uint32_t> originals);

// Reordered modes of a container of this shape, with their checksums. Checks extents and types, but reads no indices.
// Throws Error{place.on_failure}.
std::vector<ReorderedMode> find_reordered(const Hdf5Place& place, hid_t root, std::span<const std::uint64_t> shape,
                                          std::uint64_t file_bytes);

// Reads the indices and checks the checksum and that they are a permutation. `length` is the mode's length, which
// find_reordered has checked. Throws Error: io, corrupt.
std::vector<std::uint32_t> read_reordering(const std::filesystem::path& path, const ReorderedMode& reordered,
                                           std::uint64_t length);

}  // namespace blco
