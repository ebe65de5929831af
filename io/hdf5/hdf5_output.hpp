// An HDF5 file being written, which appears under its name only when it is whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "io/file/file_descriptor.hpp"
#include "io/file/temporary_file.hpp"
#include "io/hdf5/hdf5_handle.hpp"
#include "io/hdf5/hdf5_trailer.hpp"

namespace blco {

class Hdf5Output {
 public:
  // Creates a temporary file beside place.path. Throws Error{io}.
  explicit Hdf5Output(const Hdf5Place& place) : Hdf5Output(place, TemporaryFile(place.path)) {}
  // The same where the caller has taken the name before.
  Hdf5Output(const Hdf5Place& place, TemporaryFile temporary);
  // Discards what was not published.
  ~Hdf5Output();
  Hdf5Output(const Hdf5Output&) = delete;
  Hdf5Output& operator=(const Hdf5Output&) = delete;

  hid_t root() const { return file_.get(); }
  bool is_open() const { return file_.is_open(); }
  const Hdf5Place& place() const { return place_; }

  // Makes sure that the disk has room for `bytes` more of data, and for what HDF5 keeps about them, where the file
  // system can tell. Throws Error{io}. To be called before each large write: once HDF5 1.10 has failed to write its own
  // metadata, it cannot close the file, and crashes at the program's end.
  void reserve(std::uint64_t bytes);

  // Where HDF5 will put the next large object, as far as can be told: the end of the file.
  std::uint64_t end() const;
  // True if the file has exactly these bytes at `address`.
  bool has_bytes(std::uint64_t address, std::span<const std::byte> bytes) const;

  // What HDF5 writes from here on goes nowhere. To be called before the ids of a file that will not be published are
  // closed: HDF5 1.10 crashes at the program's end where it could not write the rest of a file (a full disk).
  void abandon() noexcept;

  // Bytes that have checksums of their own, and that the trailer need not cover.
  void exclude(ByteRange range) { excluded_.push_back(range); }

  // Writes what is left, closes, appends the trailer, syncs and renames; returns the file's size. Every other id of the
  // file is closed before. Reads again all that is not excluded. Throws Error{io}.
  std::uint64_t publish();

 private:
  void begin_sync(std::uint64_t written);

  Hdf5Place place_;
  // Before the id, so that HDF5 lets go of the file before it is removed.
  TemporaryFile temporary_;
  Hdf5Id file_;
  FileDescriptor descriptor_;
  std::uint64_t reserved_ = 0;
  std::uint64_t syncing_ = 0;  // bytes that the disk was told to write
  std::vector<ByteRange> excluded_;
};

}  // namespace blco
