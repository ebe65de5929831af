// The trailer behind the HDF5 data of our files: a checksum over all bytes that are not payloads, so that HDF5 is given
// no damaged file. blco/FORMAT.md is its specification.
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

// What [0, end) has outside `excluded`, ascending and without empty ranges. `excluded` may overlap, in any order.
std::vector<ByteRange> complement(std::vector<ByteRange> excluded, std::uint64_t end);

// Appends the trailer to a closed HDF5 file of `hdf5_bytes`, opened for reading and writing, and returns the size of
// the whole. Reads all bytes that `excluded` leaves. Throws Error{io}.
std::uint64_t append_trailer(int descriptor, const std::filesystem::path& path, std::uint64_t hdf5_bytes,
                             std::vector<ByteRange> excluded);

// Reads the superblock, and the trailer with all that it covers. Throws Error: corrupt where the file is shorter than
// its HDF5 data, where what follows them is no trailer, or where a checksum does not match; io where it cannot be read.
// A file without a trailer passes (other programs write none, and drop ours), as does one that does not start with a
// superblock of version 2 or 3. Memory: 1 MiB and the trailer.
void check_trailer(int descriptor, const std::filesystem::path& path, std::uint64_t file_bytes);

// Whether a file that has passed check_trailer was covered by one.
bool has_trailer(int descriptor, const std::filesystem::path& path, std::uint64_t file_bytes);

}  // namespace blco
