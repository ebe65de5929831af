// A look at HDF5's global heaps, where texts of variable length lie: they have no checksum, and HDF5 1.10 loops for
// ever or writes past its memory on some damaged ones.
#pragma once

#include <cstdint>
#include <filesystem>

namespace blco {

// Finds every global heap of the file by its signature, and walks its objects. Reads the whole file, 1 MiB at a time
// and the heaps one by one. Throws Error: corrupt where an object does not lie in its heap, io where it cannot be read.
void check_global_heaps(int descriptor, const std::filesystem::path& path, std::uint64_t file_bytes);

}  // namespace blco
