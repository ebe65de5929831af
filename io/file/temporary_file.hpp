// Output that appears under its name only when complete.
#pragma once

#include <filesystem>

#include "io/file/file_descriptor.hpp"

namespace blco {

// Locks end with the process that holds them, even if it is killed.
enum class Lock { taken, held_by_another, not_supported };

// Takes an exclusive lock of an open file (flock) without waiting. Throws Error{io} naming `path`.
Lock try_lock(const FileDescriptor& file, const std::filesystem::path& path);

// True if `path` still names the open file, which may have been removed before it was locked.
bool is_still_named(const FileDescriptor& file, const std::filesystem::path& path);

// `target`, or the file that it points to if it is a symbolic link. Throws Error{io} if its folder does not exist or is
// not writable, or if it exists and is not a regular file (a folder, a device).
std::filesystem::path checked_target(std::filesystem::path target);

// A temporary name next to `target`, unique to this process, for the caller to write. The destructor removes the file
// unless it was published. While this object lives, no other job can claim the same target. Removes what killed jobs
// left for this target.
class TemporaryFile {
 public:
  // Throws Error{io} as checked_target does, or if another job is writing the target.
  explicit TemporaryFile(std::filesystem::path target);
  ~TemporaryFile();
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& target() const { return target_; }

  // Syncs the file, renames it over the target, and syncs the folder. Throws Error{io}; the temporary file is removed
  // even then.
  void publish();

 private:
  std::filesystem::path target_;
  std::filesystem::path lock_path_;
  FileDescriptor lock_;
  std::filesystem::path path_;
  bool is_mine_ = true;  // and is removed by the destructor
};

}  // namespace blco
