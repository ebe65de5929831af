// An HDF5 file that appears under its name only when completely written.
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
  // Reserved beside the data for HDF5's metadata: of any file, and of one with few objects and no long names.
  static constexpr std::uint64_t most_metadata_bytes = std::uint64_t{1} << 20;
  static constexpr std::uint64_t few_metadata_bytes = std::uint64_t{64} << 10;

  // Creates a temporary file next to place.path. Throws Error{io}.
  explicit Hdf5Output(const Hdf5Place& place) : Hdf5Output(place, TemporaryFile(place.path)) {}
  // Same, for an output name that the caller has already claimed.
  Hdf5Output(const Hdf5Place& place, TemporaryFile temporary, std::uint64_t metadata_bytes = most_metadata_bytes);
  // Discards the file unless it was published.
  ~Hdf5Output();
  Hdf5Output(const Hdf5Output&) = delete;
  Hdf5Output& operator=(const Hdf5Output&) = delete;

  hid_t root() const { return file_.get(); }
  bool is_open() const { return file_.is_open(); }
  // Of the file that is being written, which does not have its name yet.
  const std::filesystem::path& path() const { return temporary_.path(); }
  const Hdf5Place& place() const { return place_; }

  // Reserves disk space for `bytes` more of data and HDF5's metadata about them, where the file system can. Throws
  // Error{io}. Call it before each large write: once HDF5 1.10 has failed to write its own metadata, it cannot close
  // the file, and crashes at the program's end.
  void reserve(std::uint64_t bytes);

  // The end of the file, where HDF5 will most likely put the next large object.
  std::uint64_t end() const;
  // True if the file has exactly these bytes at `address`.
  bool has_bytes(std::uint64_t address, std::span<const std::byte> bytes) const;

  // Discards whatever HDF5 writes from here on. Call it before closing the ids of a file that will not be published:
  // HDF5 1.10 crashes at the program's end if it could not write the rest of a file (a full disk).
  void abandon() noexcept;

  // Excludes bytes from the trailer, because they have checksums of their own.
  void exclude(ByteRange range) { excluded_.push_back(range); }

  // Writes the rest, closes, appends the trailer, syncs and renames; returns the file size. Reads back everything that
  // is not excluded. Throws Error{io}. Requires: all other ids of the file are closed.
  std::uint64_t publish();

 private:
  void begin_sync(std::uint64_t written);

  Hdf5Place place_;
  // Declared before the id, so that HDF5 closes the file before it is removed.
  TemporaryFile temporary_;
  Hdf5Id file_;
  FileDescriptor descriptor_;
  std::uint64_t metadata_bytes_;
  std::uint64_t reserved_ = 0;
  std::uint64_t syncing_ = 0;  // bytes that the disk was asked to write
  std::vector<ByteRange> excluded_;
};

}  // namespace blco
