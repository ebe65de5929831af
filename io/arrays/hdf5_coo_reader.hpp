// Coordinate lists in HDF5 files.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "io/arrays/coo_source.hpp"

namespace blco {

// FILE:/GROUP as file and group; "/" where no group is named, or where a file of the whole name is there.
std::pair<std::filesystem::path, std::string> split_hdf5_group(const std::filesystem::path& input);

// Opens FILE or FILE:/GROUP. Which datasets find_coo_layout knows; integers and reals of up to 64 bits and bool as h5py
// writes it, in any storage that HDF5 reads; "shape" may also be an attribute of the group or of the coordinates.
// Throws Error{invalid_argument} naming file and dataset for any other, and for a BLCO container or a model; corrupt
// where the file is damaged; io. Memory: HDF5's chunk caches, as large as the chunks that a batch ends in, which may
// take 256 MiB in all.
std::unique_ptr<CooSource> open_hdf5_coo(const std::filesystem::path& input);

}  // namespace blco
