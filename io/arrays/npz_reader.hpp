// Coordinate lists in NumPy archives (.npz), as scipy.sparse, pydata/sparse or numpy.savez write them.
#pragma once

#include <filesystem>
#include <memory>

#include "io/arrays/coo_source.hpp"

namespace blco {

// Reads the archive's directory and the headers of its arrays. find_coo_layout tells which arrays it reads. Types:
// integers of any width, and for values also f4, f8 and bool; either byte order, C or Fortran order, stored or
// deflated. Throws Error: invalid_argument (any other type, pickled objects included, naming file and array), corrupt,
// io. Memory: one stream per array, or per row of a matrix: 150 KiB if deflated, nothing if stored. A deflated matrix
// of one row per mode is inflated twice.
std::unique_ptr<CooSource> open_npz(const std::filesystem::path& path);

}  // namespace blco
