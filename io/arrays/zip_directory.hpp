// The directory of a zip file: its members, and where they lie.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace blco {

struct ZipMember {
  std::string name;
  std::uint16_t method = 0;  // 0: stored, 8: deflated
  std::uint32_t crc = 0;     // of the content
  std::uint64_t stored_bytes = 0;
  std::uint64_t bytes = 0;        // of the content
  std::uint64_t data_offset = 0;  // of the stored bytes, in the file
};

// Reads the central directory, zip64 included, and the local header of each member. Throws Error: corrupt (the file is
// cut off, or the directory or a member lies outside it), invalid_argument (members that are encrypted or compressed by
// anything but deflate; archives of several disks), io. Memory: twice the directory, which may have up to 64 MiB.
std::vector<ZipMember> read_zip_directory(int descriptor, const std::filesystem::path& path, std::uint64_t file_bytes);

}  // namespace blco
