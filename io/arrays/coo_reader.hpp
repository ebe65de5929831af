// Reads coordinate lists from arrays in files (NumPy archives or HDF5), in batches, and refuses bad input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "blco/executor.hpp"
#include "io/arrays/coo_source.hpp"
#include "io/coordinate_reader.hpp"

namespace blco {

// Joins several sources of one order into one tensor, in the order given. Its declared shape is the largest of theirs,
// if each declares one. Batches are sized so that the reader takes at most `memory_bytes`, where that is possible.
// `executor` must outlive the reader. Throws Error{invalid_argument} if the orders differ.
// next() throws Error{invalid_argument} naming file, entry (from 0) and array for a coordinate that is negative or
// 2^64-1, and for a value that is not finite; otherwise what the sources throw.
std::unique_ptr<CoordinateReader> make_coo_reader(std::vector<std::unique_ptr<CooSource>> sources,
                                                  std::uint64_t memory_bytes, Executor& executor);

// Opens a NumPy archive (.npz), as scipy.sparse, pydata/sparse or numpy.savez write them: reads its directory and the
// headers of its arrays. find_coo_layout tells which arrays it reads. Types:
// integers of any width, and for values also f4, f8 and bool; either byte order, C or Fortran order, stored or
// deflated. Throws Error: invalid_argument (any other type, pickled objects included, naming file and array), corrupt,
// io. Memory: one stream per array, or per row of a matrix: 150 KiB if deflated, nothing if stored. A deflated matrix
// of one row per mode is inflated twice. Values may be absent if `order`, the number of modes, is given.
std::unique_ptr<CooSource> open_npz(const std::filesystem::path& path, std::size_t order = 0);

// Whether a file that can be read begins with HDF5's superblock, or has one behind a user block, as those of MATLAB do:
// at 512, 1024, 2048, ...
bool has_hdf5_superblock(const std::filesystem::path& path);

// Splits FILE:/GROUP into file and group; the group is "/" if none is named, or if a file of the whole name exists.
std::pair<std::filesystem::path, std::string> split_hdf5_group(const std::filesystem::path& input);

// Opens a coordinate list in HDF5, FILE or FILE:/GROUP. find_coo_layout tells which datasets it reads. Types: integers
// and reals of up to 64 bits, and bool as h5py writes it, in any storage that HDF5 reads. "shape" may also be an
// attribute of the group or of the coordinates. Throws Error: invalid_argument (any other type, naming file and
// dataset; a BLCO container or a model), corrupt, io. Memory: HDF5's chunk caches, as large as the chunks at the end of
// a batch, up to 256 MiB in total. Values as in open_npz.
std::unique_ptr<CooSource> open_hdf5_coo(const std::filesystem::path& input, std::size_t order = 0);

}  // namespace blco
