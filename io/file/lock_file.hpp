// Locks that end with the process that holds them, however it ends.
#pragma once

#include <filesystem>
#include <optional>

#include "io/file/file_descriptor.hpp"

namespace blco {

enum class Lock { taken, held_by_another, not_supported };

// An exclusive lock of an open file (flock), without waiting. Throws Error{io} naming `path`.
Lock try_lock(const FileDescriptor& file, const std::filesystem::path& path);

// True if `path` still names the open file: a file may have been removed between its opening and its locking.
bool is_still_named(const FileDescriptor& file, const std::filesystem::path& path);

// A small file that is locked as long as this lives, and removed after that.
class LockFile {
 public:
  // Nothing where another job, of this process or another, holds the lock. Throws Error{io} "cannot write <shown>"
  // where the file cannot be made. A file system without locks gives a lock that excludes nobody.
  static std::optional<LockFile> try_take(const std::filesystem::path& path, const std::filesystem::path& shown);

  LockFile(LockFile&&) noexcept = default;
  LockFile& operator=(LockFile&&) = delete;
  ~LockFile();

  // False where the file system knows no locks.
  bool excludes_others() const { return excludes_others_; }

 private:
  LockFile(FileDescriptor file, std::filesystem::path path, bool excludes_others)
      : file_(std::move(file)), path_(std::move(path)), excludes_others_(excludes_others) {}

  FileDescriptor file_;
  std::filesystem::path path_;
  bool excludes_others_;
};

}  // namespace blco
