// Finds every chunk of a container's columns in linear time; HDF5 1.10's own list takes quadratic time.
#pragma once

#include <filesystem>
#include <vector>

#include "io/container/container_table.hpp"
#include "io/hdf5/hdf5_handle.hpp"

namespace blco {

// HDF5 looks up one chunk for a read at no cost, but walks over all chunks to tell an address. So HDF5 is made to read
// every chunk through a file driver that records the addresses and reads nothing.
class ChunkFinder {
 public:
  // Opens the file. Throws Error{place.on_failure}.
  explicit ChunkFinder(const Hdf5Place& place);

  // Same result as read_chunk_index, in chunk order. The first, middle and last chunk are compared with HDF5's own
  // answer; if one differs, HDF5 is asked for all.
  std::vector<IndexedChunk> find(const char* column, const ContainerInfo& info) const;

 private:
  Hdf5Place place_;
  Hdf5Id driver_;
  Hdf5Id file_;
};

}  // namespace blco
