// Creates, abandons and publishes HDF5 files.
#include "io/hdf5/hdf5_output.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "io/file/file_descriptor.hpp"

namespace blco {
namespace {

// Space is reserved in steps, not for every write.
constexpr std::uint64_t reserve_step = std::uint64_t{16} << 20;
// The disk is asked to start writing after this many bytes, so that little is left for the final sync.
constexpr std::uint64_t sync_step = std::uint64_t{4} << 20;

}  // namespace

Hdf5Output::Hdf5Output(const Hdf5Place& place, TemporaryFile temporary, std::uint64_t metadata_bytes)
    : place_(place),
      temporary_(std::move(temporary)),
      file_(create_hdf5_file(place, temporary_.path())),
      metadata_bytes_(metadata_bytes) {
  descriptor_ = FileDescriptor(::open(temporary_.path().c_str(), O_RDWR | O_CLOEXEC));
  if (!descriptor_.is_open()) throw_system_error("open", temporary_.path());
}

Hdf5Output::~Hdf5Output() { abandon(); }

void Hdf5Output::reserve(std::uint64_t bytes) {
  const std::uint64_t written = end();
  begin_sync(written);
  const std::uint64_t needed = written + bytes + metadata_bytes_;
  // Reserved space does not count against the file size limit; written data does.
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && needed > limit.rlim_cur) {
    throw_system_error("write", place_.path, EFBIG);
  }
  if (needed <= reserved_) return;
  const auto allocate = [&](std::uint64_t until) {
    const auto from = static_cast<off_t>(reserved_);
    if (::fallocate(descriptor_.get(), FALLOC_FL_KEEP_SIZE, from, static_cast<off_t>(until) - from) != 0) return false;
    reserved_ = until;
    return true;
  };
  if (allocate(needed + reserve_step) || allocate(needed)) return;
  if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) throw_system_error("write", place_.path);
}

// Errors are ignored: they surface at the final sync.
void Hdf5Output::begin_sync(std::uint64_t written) {
  if (written < syncing_ + sync_step) return;
  static_cast<void>(::sync_file_range(descriptor_.get(), static_cast<off_t>(syncing_),
                                      static_cast<off_t>(written - syncing_), SYNC_FILE_RANGE_WRITE));
  syncing_ = written;
}

std::uint64_t Hdf5Output::end() const {
  hsize_t bytes = 0;
  checked(H5Fget_filesize(file_.get(), &bytes), place_, "cannot read the file's size");
  return bytes;
}

bool Hdf5Output::has_bytes(std::uint64_t address, std::span<const std::byte> bytes) const {
  std::vector<std::byte> found(bytes.size());
  try {
    read_at(descriptor_.get(), address, found);
  } catch (const Error&) {
    return false;
  }
  return std::ranges::equal(found, bytes);
}

void Hdf5Output::abandon() noexcept {
  if (!file_.is_open()) return;
  const QuietHdf5 quiet;
  void* handle = nullptr;
  if (H5Fget_vfd_handle(file_.get(), H5P_DEFAULT, &handle) < 0 || handle == nullptr) return;
  const FileDescriptor sink(::memfd_create("abandoned", MFD_CLOEXEC));
  if (sink.is_open()) ::dup3(sink.get(), *static_cast<const int*>(handle), O_CLOEXEC);
}

std::uint64_t Hdf5Output::publish() {
  reserve(0);
  checked(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL), place_, "cannot write the file");
  file_.close(place_, "cannot close the file");
  std::error_code failure;
  const std::uint64_t hdf5_bytes = std::filesystem::file_size(temporary_.path(), failure);
  if (failure) fail_at(place_, "cannot read the file's size: " + failure.message());
  const std::uint64_t bytes = append_trailer(descriptor_.get(), place_.path, hdf5_bytes, std::move(excluded_));
  // Frees the space reserved past the end.
  if (::ftruncate(descriptor_.get(), static_cast<off_t>(bytes)) != 0) throw_system_error("write", place_.path);
  temporary_.publish();
  return bytes;
}

}  // namespace blco
