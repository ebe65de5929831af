// Zip files: the directory, and the content of one member, front to back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
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

// CRC-32 of two concatenated byte sequences, computed from the CRC-32 of each.
std::uint32_t combine_crc(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes);

class ZipStream {
 public:
  // Memory of a stream of this member.
  static std::uint64_t memory_bytes(const ZipMember& member);

  // Descriptor, path and member must outlive the stream.
  ZipStream(int descriptor, const std::filesystem::path& path, const ZipMember& member);
  ~ZipStream();
  // A second stream that continues from the same position, with its own checksum.
  ZipStream(const ZipStream& other);
  ZipStream& operator=(const ZipStream&) = delete;

  // Fills `out` with the next bytes. Throws Error: corrupt (damaged or too short), io.
  void read(std::span<std::byte> out);
  // Skips bytes, without cost in a stored member. They do not count in crc().
  void skip(std::uint64_t bytes);

  std::uint64_t position() const { return position_; }
  // CRC-32 of the bytes read.
  std::uint32_t crc() const { return crc_; }

 private:
  struct Inflater;

  void inflate(std::span<std::byte> out);
  [[noreturn]] void damaged(const char* what) const;

  int descriptor_;
  const std::filesystem::path& path_;
  const ZipMember& member_;
  std::uint64_t position_ = 0;  // in the content
  std::uint32_t crc_ = 0;
  std::unique_ptr<Inflater> inflater_;  // of a deflated member
};

}  // namespace blco
