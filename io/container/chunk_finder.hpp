// Finds every chunk of a container's columns in time linear in their count, where HDF5 1.10's own list is quadratic.
#pragma once

#include <filesystem>
#include <vector>

#include "io/container/container_table.hpp"
#include "io/hdf5/hdf5_handle.hpp"

namespace blco {

// Looking up one chunk to read it takes HDF5 no time, telling its address takes a walk over all. So HDF5 is made to
// read every chunk through a file driver that notes where the bytes would come from, and reads none of them.
class ChunkFinder {
 public:
  // Opens the file. Throws Error{place.on_failure}.
  explicit ChunkFinder(const Hdf5Place& place);

  // As read_chunk_index, in the order of the chunks. The first, middle and last are compared with HDF5's own answer;
  // where they differ, all are asked from it.
  std::vector<IndexedChunk> find(const char* column, const ContainerInfo& info) const;

 private:
  Hdf5Place place_;
  Hdf5Id driver_;
  Hdf5Id file_;
};

}  // namespace blco
