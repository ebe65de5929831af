// Output that appears under its name only when it is whole.
#pragma once

#include <filesystem>
#include <optional>

#include "io/file/lock_file.hpp"

namespace blco {

// A name beside `target`, unique to this process, to be written by the caller. Removed by the destructor unless
// published. Nobody else can have one for the same target as long as it lives; what killed jobs have left of theirs for
// this target is removed.
class TemporaryFile {
 public:
  // Throws Error{io} if the folder of `target` does not exist or is not writable, if `target` exists and is not a
  // regular file (a folder, a device), or if another job is writing it.
  explicit TemporaryFile(std::filesystem::path target);
  ~TemporaryFile();
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& target() const { return target_; }

  // Syncs the file to disk, renames it over the target, and syncs the folder. Throws Error{io}; the temporary file is
  // then still removed.
  void publish();

 private:
  std::filesystem::path target_;
  std::optional<LockFile> lock_;
  std::filesystem::path path_;
  bool is_mine_ = true;  // to remove
};

}  // namespace blco
