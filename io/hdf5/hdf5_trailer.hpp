// The trailer after the HDF5 data of our files: a checksum over all bytes but the payloads, so that HDF5 never sees a
// damaged file. blco/FORMAT.md specifies it.
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

// True if the file has a trailer. Requires: it has passed check_trailer.
bool has_trailer(int descriptor, const std::filesystem::path& path, std::uint64_t file_bytes);

}  // namespace blco
