// Reads past the system's cache (O_DIRECT), for files of which it holds little.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "io/file/file_descriptor.hpp"

namespace blco {

// Transfers begin and end at multiples of this, on disk and in memory.
inline constexpr std::uint64_t direct_block_bytes = 4096;
// Most of one transfer: a disk needs no more to be busy, and a core's cache holds it.
inline constexpr std::uint64_t direct_piece_bytes = std::uint64_t{1} << 20;
// Room for a transfer, wherever the memory begins.
inline constexpr std::uint64_t direct_room_bytes = direct_piece_bytes + direct_block_bytes;

class DirectFile {
 public:
  DirectFile() = default;  // not open
  // Not open if the file system knows no such reads.
  explicit DirectFile(const std::filesystem::path& path);

  bool is_open() const { return file_.is_open(); }
  // Reads some of the `bytes` from `offset` on into `room`, of direct_room_bytes, and returns them; nothing on any
  // failure, which a read through the cache then describes.
  std::span<const std::byte> read(std::uint64_t offset, std::uint64_t bytes, std::span<std::byte> room) const;

 private:
  FileDescriptor file_;
};

}  // namespace blco
