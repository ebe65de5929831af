// What is looked at before HDF5, so that it never sees a damaged file: the trailer after the HDF5 data of our files, a
// checksum over all bytes but the payloads (blco/FORMAT.md specifies it), and the heaps of texts in files of others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace blco {

struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;

  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// The parts of [0, end) outside `excluded`, ascending, none empty. `excluded` may overlap, in any order.
std::vector<ByteRange> complement(std::vector<ByteRange> excluded, std::uint64_t end);

// Appends the trailer to a closed HDF5 file of `hdf5_bytes`, opened for reading and writing; returns the new file size.
// Reads all bytes that are not excluded. Throws Error{io}.
std::uint64_t append_trailer(int descriptor, const std::filesystem::path& path, std::uint64_t hdf5_bytes,
                             std::vector<ByteRange> excluded);

// Reads the superblock, and the trailer with all that it covers. A file without a trailer passes (other programs write
// none and drop ours), and so does one that does not start with a superblock of version 2 or 3. Throws Error: corrupt
// (the file is shorter than its HDF5 data, something other than a trailer follows them, or a checksum does not match),
// io. Memory: 1 MiB and the trailer.
void check_trailer(int descriptor, const std::filesystem::path& path, std::uint64_t file_bytes);

// Whether a file that has passed check_trailer has a trailer. Throws Error{io}.
bool has_trailer(int descriptor, const std::filesystem::path& path, std::uint64_t file_bytes);

// Call it before HDF5 reads texts of variable length. They lie in global heaps, which have no checksum, and some
// damaged ones make HDF5 1.10 loop for ever or write past its memory. So in a file without a trailer this finds every
// heap by its signature and walks over its objects; it reads the whole file, 1 MiB at a time. Throws Error: corrupt (an
// object exceeds its heap), io. Requires: the file has passed check_trailer.
void check_global_heaps(int descriptor, const std::filesystem::path& path, std::uint64_t file_bytes);

}  // namespace blco
