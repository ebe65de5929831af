// Output that appears under its name only when complete: written next to it, synced, renamed.
#include "io/file/temporary_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "blco/error.hpp"
#include "io/file/file_descriptor.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;

// With what is appended, fits the usual limit of 255 bytes for a file name.
constexpr std::size_t max_kept_name = 200;

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

// A symbolic link stays, and the file that it points to is replaced.
fs::path resolve(fs::path target) {
  constexpr int max_links = 40;  // as in Linux
  std::error_code failure;
  for (int links = 0; fs::is_symlink(fs::symlink_status(target, failure)); ++links) {
    const fs::path named = fs::read_symlink(target, failure);
    if (failure || links == max_links)
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
  // A rename would replace a device or a pipe instead of writing to it.
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

constexpr std::string_view temporary_suffix = ".blco-tmp";

// The common prefix of the hidden files of one target.
std::string hidden_prefix(const fs::path& target) {
  std::string prefix = ".";
  prefix += target.filename().string().substr(0, max_kept_name);
  prefix += '.';
  return prefix;
}

fs::path lock_path_of(const fs::path& target) { return target.parent_path() / (hidden_prefix(target) + "blco-lock"); }

fs::path unused_name(const fs::path& target) {
  static std::atomic<std::uint64_t> next{0};
  const std::string prefix = hidden_prefix(target) + std::to_string(::getpid());
  std::error_code failure;
  // Must not overwrite a file left by a killed process with the same number.
  for (;;) {
    fs::path name = target.parent_path() / (prefix + '-' + std::to_string(next.fetch_add(1)));
    name += temporary_suffix;
    if (!fs::exists(fs::symlink_status(name, failure))) return name;
  }
}

// "<process>-<number>"
bool is_job_mark(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto is_number = [](std::string_view part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  return dash != std::string_view::npos && is_number(text.substr(0, dash)) && is_number(text.substr(dash + 1));
}

// Call under the target's lock: every such file is then a leftover of a dead job.
void remove_stale(const fs::path& target) {
  const std::string prefix = hidden_prefix(target);
  std::vector<fs::path> stale;
  std::error_code failure;
  for (fs::directory_iterator at(folder_of(target), failure), end; !failure && at != end; at.increment(failure)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(temporary_suffix) ||
        name.size() < prefix.size() + temporary_suffix.size())
      continue;
    const std::string_view mark = std::string_view(name).substr(prefix.size());
    if (is_job_mark(mark.substr(0, mark.size() - temporary_suffix.size()))) stale.push_back(at->path());
  }
  for (const fs::path& path : stale) ::unlink(path.c_str());
}

// NFS locks only what may be written; the lock file that another user's dead job has left may only be read.
FileDescriptor open_lock(const fs::path& path) {
  constexpr int flags = O_NOFOLLOW | O_CLOEXEC;
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | flags, 0666));
  if (file.is_open() || errno != EACCES) return file;
  return FileDescriptor(::open(path.c_str(), O_RDONLY | flags));
}

// Opens and locks `path`, and removes what dead jobs left for the target. On a file system without locks, excludes
// nobody and removes nothing.
FileDescriptor take_lock(const fs::path& path, const fs::path& target) {
  for (;;) {
    FileDescriptor file = open_lock(path);
    if (!file.is_open()) throw_system_error("write", target);
    const Lock lock = try_lock(file);
    if (lock == Lock::held_by_another) {
      throw Error(ErrorKind::io, "cannot write " + target.string() +
                                     ": another job is writing it; wait until that has ended, or name another file");
    }
    // The last owner may have removed the file in the meantime; the lock would then be on a file that nobody else
    // finds.
    if (lock == Lock::taken && !is_still_named(file, path)) continue;
    if (lock == Lock::taken) remove_stale(target);
    return file;
  }
}

void sync_file(const fs::path& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) throw_system_error("open", path);
  // Some file systems cannot sync; an error of writing is another one.
  constexpr int kernel_not_supported = 524;
  if (::fsync(file.get()) != 0 && errno != EINVAL && errno != EOPNOTSUPP && errno != ENOSYS &&
      errno != kernel_not_supported) {
    throw_system_error("sync", path);
  }
  if (!file.close()) throw_system_error("close", path);
}

// So that a renamed file has its name even if the machine stops now. Many file systems cannot do that for a folder, and
// say so in many ways; the file is complete anyway.
void sync_folder(const fs::path& folder) noexcept {
  const FileDescriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.is_open()) static_cast<void>(::fsync(opened.get()));
}

}  // namespace

Lock try_lock(const FileDescriptor& file) noexcept {
  if (uninterrupted([&] { return ::flock(file.get(), LOCK_EX | LOCK_NB); }) == 0) return Lock::taken;
  return errno == EWOULDBLOCK ? Lock::held_by_another : Lock::not_supported;
}

bool is_still_named(const FileDescriptor& file, const std::filesystem::path& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(file.get(), &opened) == 0 && ::lstat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

fs::path checked_target(fs::path target) {
  fs::path file = resolve(std::move(target));
  check_target(file);
  return file;
}

OutputClaim::OutputClaim(const fs::path& target)
    : path_(lock_path_of(checked_target(target))), lock_(take_lock(path_, checked_target(target))) {}

OutputClaim::~OutputClaim() {
  // Removed while still locked. In a folder that was made anew, the file may be another job's.
  if (lock_.is_open() && is_still_named(lock_, path_)) ::unlink(path_.c_str());
}

bool OutputClaim::covers(const fs::path& target) const {
  return is_still_named(lock_, lock_path_of(checked_target(target)));
}

TemporaryFile::TemporaryFile(fs::path target, const OutputClaim* claim) : target_(checked_target(std::move(target))) {
  if (claim == nullptr) claim_.emplace(target_);
  path_ = unused_name(target_);
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : target_(std::move(other.target_)),
      claim_(std::move(other.claim_)),
      path_(std::move(other.path_)),
      is_mine_(std::exchange(other.is_mine_, false)) {}

TemporaryFile::~TemporaryFile() {
  if (is_mine_) ::unlink(path_.c_str());
}

void TemporaryFile::publish() {
  sync_file(path_);
  if (::rename(path_.c_str(), target_.c_str()) != 0) {
    throw_system_error("rename " + path_.string() + " to", target_);
  }
  is_mine_ = false;
  sync_folder(folder_of(target_));
}

}  // namespace blco
