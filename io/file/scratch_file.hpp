// Files that a job writes and reads back itself: locked while it lives, removed at its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "io/file/file_descriptor.hpp"

namespace blco {

class ScratchFile {
 public:
  // Creates ".<mark>.<process>-<number>.blco-spill" in `folder`. Throws Error{io}.
  ScratchFile(const std::filesystem::path& folder, const std::string& mark);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t bytes() const { return bytes_; }

  // Appends and returns the offset of the bytes. Throws Error{io}, also on a full disk.
  std::uint64_t append(std::span<const std::byte> bytes);
  // Throws Error: io; corrupt if the file has become shorter.
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  // Hints that these bytes will be read soon.
  void announce(std::uint64_t offset, std::uint64_t bytes) const;
  // Frees the disk space of bytes already consumed, where the file system can.
  void release(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  std::uint64_t bytes_ = 0;
};

// Removes scratch files that killed jobs left in `folder`: those that nobody has locked.
void remove_stale_scratch(const std::filesystem::path& folder) noexcept;

// Throws Error{io} if `folder` is not a folder, or no file can be made in it.
void check_writable(const std::filesystem::path& folder);

// The folder that was asked for, or else that of `output`: writable, and without what killed jobs left. Throws
// Error{io}.
std::filesystem::path scratch_folder(std::filesystem::path asked, const std::filesystem::path& output);

// Bytes that this user may still write to the file system of `folder`; the largest number where that is not known.
std::uint64_t free_disk_bytes(const std::filesystem::path& folder) noexcept;

// Whether two folders share their free space, as far as the system tells.
bool are_on_one_disk(const std::filesystem::path& folder, const std::filesystem::path& other);

// The largest file that this process may write (RLIMIT_FSIZE).
std::uint64_t max_file_bytes();

}  // namespace blco
