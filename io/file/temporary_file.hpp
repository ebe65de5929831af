// Output that appears under its name only when complete.
#pragma once

#include <filesystem>
#include <optional>

#include "io/file/file_descriptor.hpp"

namespace blco {

// Locks end with the process that holds them, even if it is killed.
enum class Lock { taken, held_by_another, not_supported };

// Takes an exclusive lock of an open file (flock) without waiting. File systems refuse locks in many ways (EOPNOTSUPP,
// 524, EPERM, EACCES, ...): whatever does not say that another has the lock means that there are none.
Lock try_lock(const FileDescriptor& file) noexcept;

// True if `path` still names the open file, which may have been removed before it was locked.
bool is_still_named(const FileDescriptor& file, const std::filesystem::path& path);

// `target`, or the file that it points to if it is a symbolic link. Throws Error{io} if its folder does not exist or is
// not writable, or if it exists and is not a regular file (a folder, a device).
std::filesystem::path checked_target(std::filesystem::path target);

// While this object lives, no other job can claim or write the same target. Removes what killed jobs left for it.
class OutputClaim {
 public:
  // Throws Error{io} as checked_target does, or if another job has claimed the target.
  explicit OutputClaim(const std::filesystem::path& target);
  ~OutputClaim();
  OutputClaim(OutputClaim&&) noexcept = default;
  OutputClaim& operator=(OutputClaim&&) = delete;

  // Whether it keeps other jobs from `target`: no longer if the folder was removed meanwhile. Throws Error{io} as
  // checked_target does.
  bool covers(const std::filesystem::path& target) const;

 private:
  std::filesystem::path path_;
  FileDescriptor lock_;
};

// A temporary name next to `target`, unique to this process, for the caller to write. The destructor removes the file
// unless it was published.
class TemporaryFile {
 public:
  // `claim` must cover the target and outlive this; null: this object claims the target. Throws Error{io} as
  // OutputClaim does.
  explicit TemporaryFile(std::filesystem::path target, const OutputClaim* claim = nullptr);
  ~TemporaryFile();
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& target() const { return target_; }

  // Syncs the file, renames it over the target, and syncs the folder. Throws Error{io}, but not once the file has its
  // name; the temporary file is removed even then.
  void publish();

 private:
  std::filesystem::path target_;
  std::optional<OutputClaim> claim_;  // none: the caller's
  std::filesystem::path path_;
  bool is_mine_ = true;  // and is removed by the destructor
};

}  // namespace blco
