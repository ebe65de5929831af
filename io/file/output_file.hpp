// A file written from start to end by system calls; a full disk is an error, not a short file.
#pragma once

#include <fcntl.h>

#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "blco/error.hpp"
#include "io/file/file_descriptor.hpp"

namespace blco {

// Errors name `shown`, the file that the caller asked for, because `path` may be a temporary one.
class OutputFile {
 public:
  OutputFile(const std::filesystem::path& path, std::filesystem::path shown) : shown_(std::move(shown)) {
    file_ = FileDescriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file_.is_open()) throw_system_error("write", shown_);
  }

  void write(std::span<const char> bytes) {
    if (const int failure = write_next(file_.get(), std::as_bytes(bytes))) throw_system_error("write", shown_, failure);
  }

  // Writes and empties `text` once it has `bytes` bytes: a buffer for text that is made piece by piece.
  void write_from(std::string& text, std::size_t bytes) {
    if (text.size() < bytes) return;
    write(text);
    text.clear();
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
