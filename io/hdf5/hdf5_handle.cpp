// HDF5 ids, files and groups, and the capture of HDF5's error stack.
#include "io/hdf5/hdf5_handle.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <fstream>

#include "blco/refuse.hpp"
#include "io/file/file_descriptor.hpp"
#include "io/hdf5/hdf5_trailer.hpp"

namespace blco {
namespace {

// HDF5 calls this from C, so it must not throw.
herr_t append_description(unsigned, const H5E_error2_t* error, void* data) noexcept {
  try {
    auto& text = *static_cast<std::string*>(data);
    if (error->desc == nullptr || *error->desc == '\0') return 0;
    if (!text.empty()) text += ": ";
    text += error->desc;
    // Some descriptions contain line breaks.
    std::replace(text.begin(), text.end(), '\n', ' ');
    return 0;
  } catch (const std::exception&) {
    return -1;
  }
}

std::string error_stack() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, append_description, &text);
  return text;
}

Hdf5Id access_properties(const Hdf5Place& place) {
  Hdf5Id access = make_properties(place, H5P_FILE_ACCESS);
  checked(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110), place, "cannot set the format version");
  checked(H5Pset_file_locking(access.get(), false, true), place, "cannot turn file locking off");
  return access;
}

// Makes the file, and writes where HDF5 will write first. If that cannot be done, the system's message is better:
// HDF5's is about HDF5, which cannot close such a file, and crashes at the program's end.
void check_first_write(const Hdf5Place& place, const std::filesystem::path& path) {
  constexpr std::array<std::byte, 4096> superblock{};
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file.is_open()) throw_system_error("write", place.path);
  if (const int failure = write_at(file.get(), 0, superblock)) throw_system_error("write", place.path, failure);
  if (!file.close()) throw_system_error("write", place.path);
}

}  // namespace

QuietHdf5::QuietHdf5() {
  unsigned is_version_2 = 0;
  // A handler set through HDF5's old interface is kept, because it cannot be saved here.
  if (H5Eauto_is_v2(H5E_DEFAULT, &is_version_2) < 0 || is_version_2 == 0) return;
  saved_ = H5Eget_auto2(H5E_DEFAULT, &function_, &data_) >= 0 && H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
}

QuietHdf5::~QuietHdf5() {
  if (saved_) H5Eset_auto2(H5E_DEFAULT, function_, data_);
}

void fail_at(const Hdf5Place& place, const std::string& what) {
  const char* const remedy = place.on_failure == ErrorKind::corrupt ? "; restore it from a copy, or make it again" : "";
  // Texts of the file may be in it, and a message is one line.
  std::string shown = what;
  std::ranges::replace_if(
      shown, [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }, '?');
  throw Error(place.on_failure, place.path.string() + ": " + shown + remedy);
}

void fail_hdf5(const Hdf5Place& place, std::string_view what, std::string_view name) {
  const std::string stack = error_stack();
  std::string text(what);
  if (!name.empty()) text.append(" ").append(name);
  if (!stack.empty()) text.append(" (HDF5: ").append(stack).append(")");
  fail_at(place, text);
}

void Hdf5Id::reset() noexcept {
  if (!is_open()) return;
  const QuietHdf5 quiet;
  close_(std::exchange(id_, H5I_INVALID_HID));
}

void Hdf5Id::close(const Hdf5Place& place, std::string_view what) {
  checked(close_(std::exchange(id_, H5I_INVALID_HID)), place, what);
}

Hdf5Id own(hid_t id, Hdf5Id::Close closer, const Hdf5Place& place, std::string_view what, std::string_view name) {
  return {checked(id, place, what, name), closer};
}

Hdf5Id make_properties(const Hdf5Place& place, hid_t type) {
  return own(H5Pcreate(type), H5Pclose, place, "cannot make a property list");
}

Hdf5Id create_hdf5_file(const Hdf5Place& place, const std::filesystem::path& path) {
  const Hdf5Id creation = make_properties(place, H5P_FILE_CREATE);
  checked(H5Pset_obj_track_times(creation.get(), false), place, "cannot turn object times off");
  check_first_write(place, path);
  const Hdf5Id access = access_properties(place);
  // Small raw data is stored where it is written, not in a shared block.
  checked(H5Pset_small_data_block_size(access.get(), 0), place, "cannot set the size of data blocks");
  return own(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), H5Fclose, place,
             "cannot create the file");
}

bool has_hdf5_superblock(const std::filesystem::path& path) {
  constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";
  std::ifstream file(path, std::ios::binary);
  std::array<char, signature.size()> found{};
  for (std::streamoff at = 0; file.seekg(at) && file.read(found.data(), found.size()); at = at == 0 ? 512 : 2 * at) {
    if (std::string_view(found.data(), found.size()) == signature) return true;
  }
  return false;
}

Hdf5Id open_hdf5_file(const Hdf5Place& place, std::uint64_t* size) {
  std::uint64_t file_bytes = 0;
  const FileDescriptor descriptor = open_readable(place.path, file_bytes);
  if (file_bytes == 0) refuse(place.path.string() + ": the file is empty");
  if (size != nullptr) *size = file_bytes;
  // HDF5 opens the file again. If that cannot be done, as where too many are open, the system's message is better.
  std::uint64_t ignored = 0;
  static_cast<void>(open_readable(place.path, ignored));
  if (H5Fis_hdf5(place.path.c_str()) == 0) {
    refuse(place.path.string() + ": not an HDF5 file; convert text to a container with blco-ingest");
  }
  // HDF5 1.10 may crash or loop for ever on a damaged file.
  check_trailer(descriptor.get(), place.path, file_bytes);
  const Hdf5Id access = access_properties(place);
  return own(H5Fopen(place.path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose, {place.path, ErrorKind::corrupt},
             "HDF5 cannot open the file; it may be damaged or truncated");
}

Hdf5Id create_group(const Hdf5Place& place, hid_t parent, const char* name) {
  const Hdf5Id creation = make_properties(place, H5P_GROUP_CREATE);
  checked(H5Pset_obj_track_times(creation.get(), false), place, "cannot turn object times off");
  return own(H5Gcreate2(parent, name, H5P_DEFAULT, creation.get(), H5P_DEFAULT), H5Gclose, place,
             "cannot create the group", name);
}

}  // namespace blco
