// Coordinate lists in HDF5 files.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "io/arrays/coo_source.hpp"

namespace blco {

// Splits FILE:/GROUP into file and group; the group is "/" if none is named, or if a file of the whole name exists.
std::pair<std::filesystem::path, std::string> split_hdf5_group(const std::filesystem::path& input);

// Opens FILE or FILE:/GROUP. find_coo_layout tells which datasets it reads. Types: integers and reals of up to 64 bits,
// and bool as h5py writes it, in any storage that HDF5 reads. "shape" may also be an attribute of the group or of the
// coordinates. Throws Error: invalid_argument (any other type, naming file and dataset; a BLCO container or a model),
// corrupt, io. Memory: HDF5's chunk caches, as large as the chunks at the end of a batch, up to 256 MiB in total.
std::unique_ptr<CooSource> open_hdf5_coo(const std::filesystem::path& input);

}  // namespace blco
