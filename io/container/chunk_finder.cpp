// A file driver like HDF5's default one, except that it records the place of raw data instead of reading it.
#include "io/container/chunk_finder.hpp"

#if __has_include(<H5FDdevelop.h>)
#include <H5FDdevelop.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "blco/payload.hpp"
#include "io/hdf5/hdf5_data.hpp"

namespace blco {
namespace {

struct RawRead {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

// HDF5 calls the driver on the reading thread.
thread_local std::optional<RawRead> last_raw_read;

using ReadFunction = decltype(H5FD_class_t::read);
std::atomic<ReadFunction> read_by_default = nullptr;

herr_t note_or_read(H5FD_t* file, H5FD_mem_t type, hid_t transfer, haddr_t address, std::size_t bytes, void* buffer) {
  if (type != H5FD_MEM_DRAW) return read_by_default.load()(file, type, transfer, address, bytes, buffer);
  last_raw_read = {address, bytes};
  return 0;
}

struct CloseDriverFile {
  void operator()(H5FD_t* file) const { H5FDclose(file); }
};

Hdf5Id register_driver(const Hdf5Place& place) {
  const Hdf5Id access = make_properties(place, H5P_FILE_ACCESS);
  checked(H5Pset_fapl_sec2(access.get()), place, "cannot choose the file driver");
  const std::unique_ptr<H5FD_t, CloseDriverFile> file(
      H5FDopen(place.path.c_str(), H5F_ACC_RDONLY, access.get(), HADDR_UNDEF));
  if (!file) fail_hdf5(place, "cannot open the file");
  H5FD_class_t driver = *file->cls;
  read_by_default = driver.read;
  driver.name = "blco chunk finder";
  driver.read = note_or_read;
  // The default driver's terminate function would reset that driver's own id.
  driver.terminate = nullptr;
  return own(H5FDregister(&driver), H5FDunregister, place, "cannot register a file driver");
}

Hdf5Id open_by(const Hdf5Place& place, hid_t driver) {
  const Hdf5Id access = make_properties(place, H5P_FILE_ACCESS);
  checked(H5Pset_file_locking(access.get(), false, true), place, "cannot turn file locking off");
  checked(H5Pset_driver(access.get(), driver, nullptr), place, "cannot choose the file driver");
  return own(H5Fopen(place.path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose, place, "HDF5 cannot open the file");
}

// Returns nothing if the driver is not asked for a chunk's bytes as expected.
std::optional<std::vector<IndexedChunk>> note_reads(const Hdf5Place& place, hid_t dataset, const ContainerInfo& info) {
  std::vector<IndexedChunk> chunks;
  std::unique_ptr<std::byte[]> buffer;
  hsize_t buffer_bytes = 0;
  for (std::uint64_t chunk = 0; chunk < info.chunk_count(); ++chunk) {
    const hsize_t first = chunk * info.chunk_nnz;
    hsize_t bytes = 0;
    // HDF5 fails or returns 0 for a chunk that is not in the file; the caller counts the chunks found.
    if (H5Dget_chunk_storage_size(dataset, &first, &bytes) < 0 || bytes == 0) continue;
    // Twice a payload exceeds zstd's bound for it. Nobody writes the buffer, so its pages take no memory.
    if (bytes > 2 * max_payload_bytes(info.chunk_nnz)) fail_at(place, "a column has a chunk of an impossible size");
    if (bytes > buffer_bytes) buffer.reset(new std::byte[buffer_bytes = std::max(bytes, 2 * buffer_bytes)]);
    std::uint32_t mask = 0;
    last_raw_read.reset();
    checked(H5Dread_chunk(dataset, H5P_DEFAULT, &first, &mask, buffer.get()), place, "cannot read the chunk index");
    if (!last_raw_read || last_raw_read->bytes != bytes) return std::nullopt;
    chunks.push_back({chunk, {last_raw_read->address, bytes, 0, mask}});
  }
  return chunks;
}

bool is_same(const StoredExtent& a, const StoredExtent& b) {
  return a.address == b.address && a.stored_bytes == b.stored_bytes && a.filter_mask == b.filter_mask;
}

}  // namespace

ChunkFinder::ChunkFinder(const Hdf5Place& place)
    : place_(place), driver_(register_driver(place)), file_(open_by(place, driver_.get())) {}

std::vector<IndexedChunk> ChunkFinder::find(const char* column, const ContainerInfo& info) const {
  const Hdf5Id dataset = open_dataset(place_, file_.get(), column);
  hsize_t count = 0;
  {
    const Hdf5Id space = own(H5Dget_space(dataset.get()), H5Sclose, place_, "cannot read the chunk index");
    checked(H5Dget_num_chunks(dataset.get(), space.get(), &count), place_, "cannot read the chunk index");
  }
  const auto chunks = note_reads(place_, dataset.get(), info);
  const auto agrees = [&](std::size_t at) {
    const IndexedChunk& noted = (*chunks)[at];
    return is_same(noted.extent, find_chunk(place_, dataset.get(), info, noted.chunk));
  };
  if (chunks && chunks->size() == count &&
      (count == 0 || (agrees(0) && agrees(chunks->size() / 2) && agrees(chunks->size() - 1)))) {
    return *chunks;
  }
  return read_chunk_index(place_, dataset.get(), info);
}

}  // namespace blco
