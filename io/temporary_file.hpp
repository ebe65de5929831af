// Output that appears under its name only when it is whole.
#pragma once

#include <filesystem>

namespace blco {

// A name beside `target`, unique to this process, to be written by the caller. Removed by the destructor unless
// published.
class TemporaryFile {
 public:
  // Throws Error{io} if the folder of `target` does not exist or is not writable, or if `target` exists and is not a
  // regular file (a folder, a device).
  explicit TemporaryFile(std::filesystem::path target);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& target() const { return target_; }

  // Syncs the file to disk and renames it over the target. Throws Error{io}; the temporary file is then still removed.
  void publish();

 private:
  std::filesystem::path target_;
  std::filesystem::path path_;
  bool published_ = false;
};

}  // namespace blco
