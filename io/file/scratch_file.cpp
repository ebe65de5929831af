// Scratch files by pread and pwrite; a lock on each shows that its job is alive.
#include "io/file/scratch_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <limits>
#include <string_view>
#include <system_error>
#include <vector>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "io/file/file_descriptor.hpp"
#include "io/file/temporary_file.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view spill_suffix = ".blco-spill";
constexpr std::size_t max_kept_mark = 200;  // fits the usual limit of 255 bytes for a file name

[[noreturn]] void fail(const char* what, const fs::path& path, int number) {
  throw Error(ErrorKind::io, std::string("cannot ") + what + " the temporary file " + path.string() + ": " +
                                 std::generic_category().message(number) + remedy(number) + "; " +
                                 option_name("temporary_directory") + " sets its folder");
}

void remove_if_stale(const fs::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.is_open() && try_lock(file) == Lock::taken && is_still_named(file, path)) ::unlink(path.c_str());
}

}  // namespace

ScratchFile::ScratchFile(const fs::path& folder, const std::string& mark) {
  static std::atomic<std::uint64_t> next{0};
  std::string prefix = ".";
  prefix += mark.substr(0, max_kept_mark);
  prefix += '.';
  prefix += std::to_string(::getpid());
  prefix += '-';
  for (;;) {
    path_ = folder / (prefix + std::to_string(next.fetch_add(1)));
    path_ += spill_suffix;
    file_ = FileDescriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file_.is_open() && errno == EEXIST) continue;
    if (!file_.is_open()) fail("create", path_, errno);
    // A job that removes stale files may have found it before the lock: then it is gone, or about to be.
    const Lock lock = try_lock(file_);
    if (lock == Lock::not_supported || (lock == Lock::taken && is_still_named(file_, path_))) return;
  }
}

ScratchFile::~ScratchFile() { ::unlink(path_.c_str()); }

std::uint64_t ScratchFile::append(std::span<const std::byte> bytes) {
  const std::uint64_t begin = bytes_;
  if (const int failure = write_at(file_.get(), begin, bytes)) fail("write", path_, failure);
  bytes_ += bytes.size();
  return begin;
}

void ScratchFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  read_at(file_.get(), path_, offset, out);
}

void ScratchFile::announce(std::uint64_t offset, std::uint64_t bytes) const {
  static_cast<void>(
      ::posix_fadvise(file_.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_WILLNEED));
}

void ScratchFile::release(std::uint64_t offset, std::uint64_t bytes) const {
  static_cast<void>(::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                                static_cast<off_t>(bytes)));
}

void remove_stale_scratch(const fs::path& folder) noexcept {
  try {
    std::vector<fs::path> found;
    std::error_code failure;
    for (fs::directory_iterator at(folder, failure), end; !failure && at != end; at.increment(failure)) {
      const std::string name = at->path().filename().string();
      if (name.starts_with('.') && name.ends_with(spill_suffix)) found.push_back(at->path());
    }
    for (const fs::path& path : found) remove_if_stale(path);
  } catch (...) {  // a job must not fail because another one's leftovers stay
    return;
  }
}

void check_writable(const fs::path& folder) {
  std::error_code failure;
  if (!fs::is_directory(folder, failure)) {
    throw Error(ErrorKind::io, "there is no folder " + folder.string() + " for temporary files; create it first");
  }
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return;
  throw_system_error("write temporary files into the folder", folder);
}

fs::path scratch_folder(fs::path asked, const fs::path& output) {
  if (asked.empty()) asked = output.has_parent_path() ? output.parent_path() : fs::path(".");
  remove_stale_scratch(asked);
  check_writable(asked);
  return asked;
}

std::uint64_t free_disk_bytes(const fs::path& folder) noexcept {
  struct statvfs status {};
  // Some file systems do not tell their size, or report none.
  if (::statvfs(folder.c_str(), &status) != 0 || status.f_blocks == 0) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

bool are_on_one_disk(const fs::path& folder, const fs::path& other) {
  struct stat first {};
  struct stat second {};
  return ::stat(folder.c_str(), &first) == 0 && ::stat(other.c_str(), &second) == 0 && first.st_dev == second.st_dev;
}

std::uint64_t max_file_bytes() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 ? limit.rlim_cur : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace blco
