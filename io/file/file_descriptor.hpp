// A POSIX file descriptor and its owner; loops that transfer all bytes, despite partial transfers and signals; system
// errors in words.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "blco/error.hpp"

namespace blco {

// Remedies for some system errors.
inline const char* remedy(int number) {
  switch (number) {
    case ENOSPC:
    case EDQUOT:
      return "; free some space, or write to another disk";
    case EFBIG:
      return "; raise the limit (ulimit -f), or write to another file system";
    case EACCES:
      return "; change its permissions, or run as a user who has them";
    case EMFILE:
      return "; raise the limit (ulimit -n)";
    case ENAMETOOLONG:
      return "; shorten it";
    default:
      return "";
  }
}

// Throws Error{io} "cannot <what> <path>: <reason of the error number>", with a remedy.
[[noreturn]] inline void throw_system_error(const std::string& what, const std::filesystem::path& path,
                                            int number = errno) {
  throw Error(ErrorKind::io,
              "cannot " + what + " " + path.string() + ": " + std::generic_category().message(number) + remedy(number));
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int descriptor = -1) : descriptor_(descriptor) {}
  ~FileDescriptor() { close(); }
  FileDescriptor(FileDescriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      close();
      descriptor_ = std::exchange(other.descriptor_, -1);
    }
    return *this;
  }

  int get() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }

  // Returns false, with errno set, if the system reports an error only now. The descriptor is closed either way.
  bool close() { return descriptor_ < 0 || ::close(std::exchange(descriptor_, -1)) == 0; }

 private:
  int descriptor_;
};

// Opens a regular file for reading, and sets its size. Throws Error{io}.
FileDescriptor open_readable(const std::filesystem::path& path, std::uint64_t& file_bytes);

// Repeats a system call while a signal interrupts it. A negative result means failure, with errno set.
template <class Call>
ssize_t uninterrupted(const Call& call) {
  for (;;) {
    const ssize_t result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

// Reads exactly out.size() bytes. Throws Error: io, or corrupt if the file ends earlier; the caller adds the place.
void read_at(int descriptor, std::uint64_t offset, std::span<std::byte> out);

// Same; the message names the file.
void read_at(int descriptor, const std::filesystem::path& path, std::uint64_t offset, std::span<std::byte> out);

// Write all of `bytes`, at an offset or at the current position. Return 0 or the system's error number.
[[nodiscard]] int write_at(int descriptor, std::uint64_t offset, std::span<const std::byte> bytes);
[[nodiscard]] int write_next(int descriptor, std::span<const std::byte> bytes);

// Transfers begin and end at multiples of this, on disk and in memory.
inline constexpr std::uint64_t direct_block_bytes = 4096;
// Most of one transfer: a disk needs no more to be busy, and a core's cache holds it.
inline constexpr std::uint64_t direct_piece_bytes = std::uint64_t{1} << 20;
// Room for a transfer, wherever the memory begins.
inline constexpr std::uint64_t direct_room_bytes = direct_piece_bytes + direct_block_bytes;

// Reads past the system's cache (O_DIRECT), for files of which it holds little.
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
