// Locks by flock, with care for files that their last owner removes.
#include "io/file/lock_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace blco {

Lock try_lock(const FileDescriptor& file, const std::filesystem::path& path) {
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return Lock::held_by_another;
    if (errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL) return Lock::not_supported;
    throw_system_error("lock", path);
  }
  return Lock::taken;
}

bool is_still_named(const FileDescriptor& file, const std::filesystem::path& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(file.get(), &opened) == 0 && ::lstat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

std::optional<LockFile> LockFile::try_take(const std::filesystem::path& path, const std::filesystem::path& shown) {
  for (;;) {
    FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (!file.is_open()) throw_system_error("write", shown);
    const Lock lock = try_lock(file, path);
    if (lock == Lock::held_by_another) return std::nullopt;
    // The last owner may have removed the file in the meantime; the lock would then be on a file that nobody else
    // finds.
    if (lock == Lock::not_supported || is_still_named(file, path)) {
      return LockFile(std::move(file), path, lock == Lock::taken);
    }
  }
}

LockFile::~LockFile() {
  // Removed while still locked, so it is certainly this job's file.
  if (file_.is_open()) ::unlink(path_.c_str());
}

}  // namespace blco
