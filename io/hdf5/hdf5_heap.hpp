// Checks HDF5's global heaps, which hold texts of variable length: they have no checksum, and some damaged ones make
// HDF5 1.10 loop for ever or write past its memory.
#pragma once

#include <cstdint>
#include <filesystem>

namespace blco {

// Finds every global heap of the file by its signature and walks over its objects. Reads the whole file, 1 MiB at a
// time, and the heaps one by one. Throws Error: corrupt (an object exceeds its heap), io (cannot be read).
void check_global_heaps(int descriptor, const std::filesystem::path& path, std::uint64_t file_bytes);

}  // namespace blco
