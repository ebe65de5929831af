// Locks that end with the process that holds them, even if it is killed.
#pragma once

#include <filesystem>
#include <optional>

#include "io/file/file_descriptor.hpp"

namespace blco {

enum class Lock { taken, held_by_another, not_supported };

// Takes an exclusive lock of an open file (flock) without waiting. Throws Error{io} naming `path`.
Lock try_lock(const FileDescriptor& file, const std::filesystem::path& path);

// True if `path` still names the open file, which may have been removed before it was locked.
bool is_still_named(const FileDescriptor& file, const std::filesystem::path& path);

// A small file, locked while this object lives, then removed.
class LockFile {
 public:
  // Returns nothing if another job, in this process or another, holds the lock. On a file system without locks, returns
  // a lock that excludes nobody. Throws Error{io} "cannot write <shown>" if the file cannot be made.
  static std::optional<LockFile> try_take(const std::filesystem::path& path, const std::filesystem::path& shown);

  LockFile(LockFile&&) noexcept = default;
  LockFile& operator=(LockFile&&) = delete;
  ~LockFile();

  // False if the file system does not support locks.
  bool excludes_others() const { return excludes_others_; }

 private:
  LockFile(FileDescriptor file, std::filesystem::path path, bool excludes_others)
      : file_(std::move(file)), path_(std::move(path)), excludes_others_(excludes_others) {}

  FileDescriptor file_;
  std::filesystem::path path_;
  bool excludes_others_;
};

}  // namespace blco
