// Buffers from HDF5's own allocator, owned until handed over to HDF5.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <memory>
#include <new>

namespace blco {

struct FreeHdf5Memory {
  void operator()(void* memory) const { H5free_memory(memory); }
};
using Hdf5Memory = std::unique_ptr<std::byte, FreeHdf5Memory>;

inline Hdf5Memory allocate_hdf5(std::size_t bytes) {
  Hdf5Memory memory(static_cast<std::byte*>(H5allocate_memory(bytes, false)));
  if (!memory) throw std::bad_alloc();
  return memory;
}

// Hands `memory` over to HDF5 in place of `*buffer`, which is freed.
inline std::size_t hand_over(Hdf5Memory memory, std::size_t bytes, std::size_t* buffer_bytes, void** buffer) {
  H5free_memory(*buffer);
  *buffer = memory.release();
  *buffer_bytes = bytes;
  return bytes;
}

}  // namespace blco
