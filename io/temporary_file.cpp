// Output that appears under its name only when it is whole: written beside it, synced, renamed.
#include "io/temporary_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

#include "blco/error.hpp"
#include "io/file_descriptor.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;

// Leaves room for what is added to it under the usual limit of 255 bytes for a name.
constexpr std::size_t max_kept_name = 200;

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

// A link stays, and the file that it names is replaced.
fs::path resolve(fs::path target) {
  constexpr int most_links = 40;  // as Linux
  std::error_code failure;
  for (int links = 0; fs::is_symlink(fs::symlink_status(target, failure)); ++links) {
    const fs::path named = fs::read_symlink(target, failure);
    if (failure || links == most_links)
      throw Error(ErrorKind::io, "cannot follow the link " + target.string() + "; name another file");
    target = target.parent_path() / named;
  }
  return target;
}

void check_target(const fs::path& target) {
  struct stat existing {};
  if (::lstat(target.c_str(), &existing) != 0 && errno != ENOENT && errno != ENOTDIR) {
    throw_system_error("write", target);
  }
  std::error_code failure;
  const fs::file_status status = fs::status(target, failure);
  if (!target.has_filename() || status.type() == fs::file_type::directory) {
    throw Error(ErrorKind::io, "cannot write " + target.string() + ": it is a folder; name a file");
  }
  // A rename would replace a device or a pipe instead of writing into it.
  if (fs::exists(status) && status.type() != fs::file_type::regular) {
    throw Error(ErrorKind::io, "cannot write " + target.string() + ": it is not a regular file");
  }
  const fs::path folder = folder_of(target);
  if (!fs::is_directory(folder, failure)) {
    throw Error(ErrorKind::io, "cannot write " + target.string() + ": the folder " + folder.string() +
                                   " does not exist; create it first");
  }
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    throw_system_error("write into the folder", folder);
}

fs::path unused_name(const fs::path& target) {
  static std::atomic<std::uint64_t> next{0};
  std::string prefix = ".";
  prefix += target.filename().string().substr(0, max_kept_name);
  prefix += '.';
  prefix += std::to_string(::getpid());
  std::error_code failure;
  // A file that a killed process of the same number has left is not written over.
  for (;;) {
    fs::path name = target.parent_path() / (prefix + '-' + std::to_string(next.fetch_add(1)) + ".blco-tmp");
    if (!fs::exists(fs::symlink_status(name, failure))) return name;
  }
}

void sync(const fs::path& path, int flags) {
  FileDescriptor file(::open(path.c_str(), flags | O_CLOEXEC));
  // A folder that may be written but not read cannot be synced.
  if (!file.is_open() && errno == EACCES && (flags & O_DIRECTORY) != 0) return;
  if (!file.is_open()) throw_system_error("open", path);
  // Some file systems know no sync of a folder, and say so by EINVAL.
  if (::fsync(file.get()) != 0 && !(errno == EINVAL && (flags & O_DIRECTORY) != 0)) throw_system_error("sync", path);
  if (!file.close()) throw_system_error("close", path);
}

}  // namespace

TemporaryFile::TemporaryFile(fs::path target) : target_(resolve(std::move(target))) {
  check_target(target_);
  path_ = unused_name(target_);
}

TemporaryFile::~TemporaryFile() {
  if (!published_) ::unlink(path_.c_str());
}

void TemporaryFile::publish() {
  sync(path_, O_RDONLY);
  if (::rename(path_.c_str(), target_.c_str()) != 0) {
    throw_system_error("rename " + path_.string() + " to", target_);
  }
  published_ = true;
  sync(folder_of(target_), O_RDONLY | O_DIRECTORY);
}

}  // namespace blco
