// Coordinate lists in NumPy archives (.npz): of scipy.sparse, of pydata/sparse, or of numpy.savez itself.
#pragma once

#include <filesystem>
#include <memory>

#include "io/arrays/coo_source.hpp"

namespace blco {

// Reads the directory of the archive and the headers of its arrays. Which arrays find_coo_layout knows; integers of any
// width, values also f4, f8 and bool, of either byte order, in C or Fortran order, stored or deflated. Throws
// Error{invalid_argument} naming file and array for any other, pickled objects among them; corrupt where the file is
// damaged; io. Memory: a stream for each array or row of one, 150 KiB where it is deflated and nothing where it is not.
// A deflated matrix of one row per mode is inflated twice.
std::unique_ptr<CooSource> open_npz(const std::filesystem::path& path);

}  // namespace blco
