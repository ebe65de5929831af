// The directory of a zip file: which members it has, and where they lie.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace blco {

struct ZipMember {
  std::string name;
  std::uint16_t method = 0;  // 0: stored, 8: deflated
  std::uint32_t crc = 0;     // of its content
  std::uint64_t stored_bytes = 0;
  std::uint64_t bytes = 0;        // of its content
  std::uint64_t data_offset = 0;  // of the stored bytes in the file
};

// Reads the central directory, zip64 included, and the local header of each member. Throws Error: corrupt where the
// file is cut off, or the directory or a member does not lie in it; invalid_argument for members that are encrypted or
// compressed by anything but deflate, and for archives of several disks; io. Memory: twice the directory, which may
// have 64 MiB.
std::vector<ZipMember> read_zip_directory(int descriptor, const std::filesystem::path& path, std::uint64_t file_bytes);

}  // namespace blco
