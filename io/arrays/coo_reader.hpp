// Reads coordinate lists out of arrays in files, NumPy archives or HDF5, in batches and strictly.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "blco/executor.hpp"
#include "io/arrays/coo_source.hpp"
#include "io/coordinate_reader.hpp"

namespace blco {

// Several sources are one tensor, in the order given, of one order; its declared shape is the largest of theirs, where
// each has one. Entries are batched so that the reader takes at most `memory_bytes`, where that is possible. next()
// throws Error{invalid_argument} naming file, entry (from 0) and array for a coordinate that is negative or 2^64-1 and
// for a value that is not finite; else as the sources do. `executor` must outlive the reader. Throws
// Error{invalid_argument} where the orders differ.
std::unique_ptr<CoordinateReader> make_coo_reader(std::vector<std::unique_ptr<CooSource>> sources,
                                                  std::uint64_t memory_bytes, Executor& executor);

}  // namespace blco
