// Owns a POSIX file descriptor, and turns system errors into messages.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <filesystem>
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

}  // namespace blco
