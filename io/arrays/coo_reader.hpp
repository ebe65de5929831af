// Reads coordinate lists from arrays in files (NumPy archives or HDF5), in batches, and refuses bad input.
#pragma once

#include <cstdint>
#include <memory>
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

}  // namespace blco
