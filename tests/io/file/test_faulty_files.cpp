// Files on systems that refuse what a local disk does: the calls of this program fail as a test says.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "io/file/scratch_file.hpp"
#include "io/file/temporary_file.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/temporary_folder.hpp"

namespace {

// Error numbers of calls that are to fail; 0: they do not.
struct Faults {
  int flock = 0;
  int fsync_file = 0;
  int fsync_folder = 0;
  int statvfs = 0;
};
Faults faults;

template <class Call>
Call* system_call(const char* name) {
  return reinterpret_cast<Call*>(::dlsym(RTLD_NEXT, name));
}

int failed(int number) {
  errno = number;
  return -1;
}

}  // namespace

// The library is linked with this program, so it finds these before those of the system.
extern "C" {
int flock(int file, int operation) noexcept {
  if (faults.flock != 0) return failed(faults.flock);
  return system_call<int(int, int)>("flock")(file, operation);
}
int fsync(int file) {
  struct stat status {};
  const bool is_folder = ::fstat(file, &status) == 0 && S_ISDIR(status.st_mode);
  const int fault = is_folder ? faults.fsync_folder : faults.fsync_file;
  return fault != 0 ? failed(fault) : system_call<int(int)>("fsync")(file);
}
int statvfs(const char* path, struct statvfs* status) noexcept {
  if (faults.statvfs != 0) return failed(faults.statvfs);
  return system_call<int(const char*, struct statvfs*)>("statvfs")(path, status);
}
}

namespace blco {
namespace {

class FaultyFiles : public testing::Test {
 protected:
  ~FaultyFiles() override { faults = {}; }

  void write(const std::string& text) {
    TemporaryFile file(folder_ / "out.h5");
    std::ofstream(file.path()) << text;
    file.publish();
  }

  // Nothing else is left beside it.
  std::string only_file() const {
    std::string found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      found += entry.path().filename().string() + ": " + file_contents(entry.path());
    }
    return found;
  }

  TemporaryFolder folder_;
};

// 524 is ENOTSUPP, which Linux keeps to itself, but for some file systems.
TEST_F(FaultyFiles, WithoutLocksAreWrittenAllTheSame) {
  for (const int number : {524, EPERM, EACCES, EOPNOTSUPP, ENOLCK, ENOSYS, EINVAL, EBADF, EIO}) {
    faults.flock = number;
    std::optional<OutputClaim> claim;
    EXPECT_NO_THROW(claim.emplace(folder_ / "out.h5")) << number;
    claim.reset();
    EXPECT_NO_THROW(write(std::to_string(number))) << number;
    EXPECT_EQ(only_file(), "out.h5: " + std::to_string(number));
    EXPECT_NO_THROW(ScratchFile(folder_.path(), "job").append({})) << number;
    remove_stale_scratch(folder_.path());
  }
  faults.flock = EWOULDBLOCK;
  expect_error(ErrorKind::io, "another job is writing it", [&] { write("never"); });
}

TEST_F(FaultyFiles, InAFolderThatCannotBeSyncedAreComplete) {
  for (const int number : {EOPNOTSUPP, EINVAL, EIO, EBADF, 524}) {
    faults.fsync_folder = number;
    EXPECT_NO_THROW(write(std::to_string(number)));
    EXPECT_EQ(only_file(), "out.h5: " + std::to_string(number));
  }
}

TEST_F(FaultyFiles, ThatCannotBeSyncedAreRefused) {
  for (const int number : {EIO, ENOSPC, EDQUOT}) {
    faults.fsync_file = number;
    expect_error(ErrorKind::io, "cannot sync", [&] { write("lost"); });
    EXPECT_EQ(only_file(), "");
  }
  faults.fsync_file = EOPNOTSUPP;  // never, and so for no data
  write("whole");
  EXPECT_EQ(only_file(), "out.h5: whole");
}

TEST_F(FaultyFiles, OfUnknownSpaceAreTakenToFit) {
  faults.statvfs = ENOSYS;

  EXPECT_EQ(free_disk_bytes(folder_.path()), std::numeric_limits<std::uint64_t>::max());
}

}  // namespace
}  // namespace blco
