// A file that is written from start to end by the system's calls; a full disk is an error, not a short file.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "blco/error.hpp"
#include "io/file/file_descriptor.hpp"

namespace blco {

// Errors name the file that the caller asked for, not the temporary one.
class OutputFile {
 public:
  OutputFile(const std::filesystem::path& path, std::filesystem::path shown) : shown_(std::move(shown)) {
    file_ = FileDescriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file_.is_open()) throw_system_error("write", shown_);
  }

  void write(std::span<const char> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
      if (written > 0) {
        bytes = bytes.subspan(static_cast<std::size_t>(written));
      } else if (written == 0 || errno != EINTR) {
        throw_system_error("write", shown_, written == 0 ? ENOSPC : errno);
      }
    }
  }

  void close() {
    if (!file_.close()) throw_system_error("write", shown_);
  }

  [[noreturn]] void fail(const std::string& reason) const {
    throw Error(ErrorKind::io, "cannot write " + shown_.string() + ": " + reason);
  }

 private:
  std::filesystem::path shown_;
  FileDescriptor file_;
};

}  // namespace blco
