// HDF5 ids that close themselves, and errors that carry HDF5's message instead of printing it.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "blco/error.hpp"
#include "io/file/file_descriptor.hpp"

namespace blco {

// While it lives, HDF5 prints no errors on this thread; its destructor restores the host program's setting. Every entry
// into this room that calls HDF5 holds one.
class QuietHdf5 {
 public:
  QuietHdf5();
  ~QuietHdf5();
  QuietHdf5(const QuietHdf5&) = delete;
  QuietHdf5& operator=(const QuietHdf5&) = delete;

 private:
  bool saved_ = false;
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

// The file that a call works on, and the kind of error that its failure is.
struct Hdf5Place {
  std::filesystem::path path;
  ErrorKind on_failure = ErrorKind::io;
};

// Throws Error "<path>: <what>", with a remedy if the file is corrupt.
[[noreturn]] void fail_at(const Hdf5Place& place, const std::string& what);
// Throws Error "<path>: <what> (<HDF5's error stack, outermost first>)". Call it right after the failure.
[[noreturn]] void fail_hdf5(const Hdf5Place& place, std::string_view what, std::string_view name = {});

// Returns the result of an HDF5 call, or throws if it is negative.
template <class Result>
Result checked(Result result, const Hdf5Place& place, std::string_view what, std::string_view name = {}) {
  if (result < 0) fail_hdf5(place, what, name);
  return result;
}

// Owns one id of any type.
class Hdf5Id {
 public:
  using Close = herr_t (*)(hid_t);

  Hdf5Id() = default;
  Hdf5Id(hid_t id, Close closer) : id_(id), close_(closer) {}
  ~Hdf5Id() { reset(); }
  Hdf5Id(Hdf5Id&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Hdf5Id& operator=(Hdf5Id&& other) noexcept {
    if (this != &other) {
      reset();
      id_ = std::exchange(other.id_, H5I_INVALID_HID);
      close_ = other.close_;
    }
    return *this;
  }

  hid_t get() const { return id_; }
  bool is_open() const { return id_ >= 0; }

  // Closes; ignores errors.
  void reset() noexcept;
  // Closes; throws if HDF5 reports an error only now.
  void close(const Hdf5Place& place, std::string_view what);

 private:
  hid_t id_ = H5I_INVALID_HID;
  Close close_ = nullptr;
};

// Takes ownership of a fresh id, or throws if it is negative.
Hdf5Id own(hid_t id, Hdf5Id::Close closer, const Hdf5Place& place, std::string_view what, std::string_view name = {});

// A property list of `type`, for instance H5P_DATASET_CREATE.
Hdf5Id make_properties(const Hdf5Place& place, hid_t type);

// Creates an empty file at `path`; messages name place.path, which may differ. Format version 1.10, no object times, no
// file lock, so that equal contents give equal bytes.
Hdf5Id create_hdf5_file(const Hdf5Place& place, const std::filesystem::path& path);

// Whether a file that can be read begins with HDF5's superblock, or has one behind a user block, as those of MATLAB do:
// at 512, 1024, 2048, ...
bool has_hdf5_superblock(const std::filesystem::path& path);

// Opens place.path for reading, without a file lock, after reading all that its trailer covers; may set its size.
// Throws Error: io (cannot be read), invalid_argument (empty, not HDF5), corrupt (the trailer's checksum fails, or HDF5
// does not accept the file).
Hdf5Id open_hdf5_file(const Hdf5Place& place, std::uint64_t* size = nullptr);

Hdf5Id create_group(const Hdf5Place& place, hid_t parent, const char* name);

}  // namespace blco
