// Reads, decompresses and verifies chunks by pread; asks HDF5 again where a chunk is not at its address.
#include "io/container_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "blco/error.hpp"
#include "blco/payload.hpp"
#include "io/container_metadata.hpp"
#include "io/container_table.hpp"
#include "io/file_descriptor.hpp"
#include "io/read_at.hpp"
#include "io/relabelling_data.hpp"

namespace blco {
namespace {

// Raw doubles lie byte-shuffled on disk, and are put back in order through the scratch.
bool may_be_shuffled(const StoredExtent& extent, std::size_t column, std::uint64_t nnz) {
  return column == static_cast<std::size_t>(Column::value) &&
         extent.payload_bytes >= sizeof(PayloadHeader) + sizeof(double) * nnz + payload_padding;
}

bool is_compressed(const StoredExtent& extent) { return (extent.filter_mask & zstd_skipped) == 0; }

std::uint64_t buffer_bytes_of(const StoredExtents& row) {
  std::uint64_t bytes = 0;
  for (const StoredExtent& extent : row) bytes += payload_slot_bytes(extent.payload_bytes);
  return bytes;
}

std::uint64_t scratch_bytes_of(const StoredExtents& row, std::uint64_t nnz) {
  std::uint64_t bytes = 0;
  for (std::size_t c = 0; c < column_count; ++c) {
    if (is_compressed(row[c])) bytes = std::max(bytes, row[c].stored_bytes);
    if (may_be_shuffled(row[c], c, nnz)) bytes = std::max(bytes, row[c].payload_bytes);
  }
  return bytes;
}

void decompress(std::span<const std::byte> stored, std::span<std::byte> payload) {
  const std::size_t written = ZSTD_decompress(payload.data(), payload.size(), stored.data(), stored.size());
  if (ZSTD_isError(written)) {
    throw Error(ErrorKind::corrupt, std::string("zstd cannot decompress it: ") + ZSTD_getErrorName(written));
  }
  if (written != payload.size()) throw Error(ErrorKind::corrupt, "it decompresses to another size than was written");
}

// Messages without a place; the caller adds it.
void read_payload(int descriptor, const StoredExtent& extent, std::size_t column, std::uint64_t nnz,
                  std::span<std::byte> payload, std::span<std::byte> scratch) {
  if (is_compressed(extent)) {
    const std::span<std::byte> stored = scratch.first(static_cast<std::size_t>(extent.stored_bytes));
    read_at(descriptor, extent.address, stored);
    decompress(stored, payload);
  } else {
    read_at(descriptor, extent.address, payload);
  }
  const Codec codec = check_payload(payload, nnz).codec;
  const bool is_value = column == static_cast<std::size_t>(Column::value);
  if ((codec == Codec::line) == is_value) throw Error(ErrorKind::corrupt, "its codec is not one of this column");
  if (codec == Codec::f64_shuffled) {
    const std::span<std::byte> shuffled = scratch.first(payload.size());
    std::memcpy(shuffled.data(), payload.data(), payload.size());
    unshuffle_f64(shuffled, payload);
  }
}

}  // namespace

struct ContainerReader::Impl {
  explicit Impl(const std::filesystem::path& file_path);

  ChunkView read(std::uint64_t chunk, const StoredExtents& row, std::span<std::byte> buffer,
                 std::span<std::byte> scratch) const;
  // Asks HDF5 once. Returns whether there are extents newer than `used`.
  bool repair(const std::vector<StoredExtents>* used, std::uint64_t chunk);
  std::span<const std::uint64_t> bounds(const std::vector<std::uint64_t>& of, std::uint64_t chunk) const {
    const std::size_t order = metadata.info.shape.size();
    return std::span(of).subspan(static_cast<std::size_t>(chunk) * order, order);
  }

  std::filesystem::path path;
  FileDescriptor file;
  std::uint64_t file_bytes = 0;
  ContainerMetadata metadata;
  std::atomic<const std::vector<StoredExtents>*> current{nullptr};
  std::mutex repair_mutex;
  bool repair_tried = false;
  std::vector<StoredExtents> repaired;
};

ContainerReader::Impl::Impl(const std::filesystem::path& file_path) : path(file_path) {
  file = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) throw_system_error("open", path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw_system_error("read", path);
  file_bytes = static_cast<std::uint64_t>(status.st_size);
  metadata = read_container_metadata(path, file.get(), file_bytes);
  current = &metadata.table.extents;
}

ChunkView ContainerReader::Impl::read(std::uint64_t chunk, const StoredExtents& row, std::span<std::byte> buffer,
                                      std::span<std::byte> scratch) const {
  ChunkView view;
  view.number = chunk;
  view.nnz = metadata.info.nnz_of_chunk(chunk);
  view.lower = bounds(metadata.table.lower, chunk);
  view.upper = bounds(metadata.table.upper, chunk);
  std::size_t offset = 0;
  for (std::size_t c = 0; c < column_count; ++c) {
    const StoredExtent& extent = row[c];
    if (extent.payload_bytes == 0) continue;
    const auto payload = buffer.subspan(offset, static_cast<std::size_t>(extent.payload_bytes));
    try {
      read_payload(file.get(), extent, c, view.nnz, payload, scratch);
    } catch (const Error& error) {
      throw Error(error.kind(), path.string() + ": chunk " + std::to_string(chunk) + ", column " + column_names[c] +
                                    ": " + error.what() + "; restore the file from a copy, or ingest it again");
    }
    view.payload[c] = payload;
    offset += static_cast<std::size_t>(payload_slot_bytes(extent.payload_bytes));
  }
  return view;
}

bool ContainerReader::Impl::repair(const std::vector<StoredExtents>* used, std::uint64_t chunk) {
  const std::lock_guard lock(repair_mutex);
  if (!repair_tried) {
    try {
      // Damaged where it is: listing all chunks takes HDF5 long and would not help.
      if (is_chunk_in_place(path, metadata.info, chunk, (*used)[static_cast<std::size_t>(chunk)])) return false;
      repair_tried = true;
      repaired = rebuild_extents(path, file.get(), file_bytes, metadata.info, metadata.table);
      current = &repaired;
    } catch (const Error&) {
      // The first failure says more than that HDF5 cannot help.
      repair_tried = true;
    }
  }
  return current != used;
}

ContainerReader::ContainerReader(const std::filesystem::path& path) : impl_(std::make_unique<Impl>(path)) {}
ContainerReader::~ContainerReader() = default;
ContainerReader::ContainerReader(ContainerReader&&) noexcept = default;
ContainerReader& ContainerReader::operator=(ContainerReader&&) noexcept = default;

const std::filesystem::path& ContainerReader::path() const { return impl_->path; }
const ContainerInfo& ContainerReader::info() const { return impl_->metadata.info; }
std::uint64_t ContainerReader::file_bytes() const { return impl_->file_bytes; }

std::vector<std::uint32_t> ContainerReader::relabelling(std::uint64_t mode) const {
  for (const RelabelledMode& relabelled : info().relabelled) {
    if (relabelled.mode == mode) return read_relabelling(path(), relabelled, info().shape.at(mode));
  }
  return {};
}

const StoredExtents& ContainerReader::extents(std::uint64_t chunk) const {
  return impl_->metadata.table.extents.at(static_cast<std::size_t>(chunk));
}

std::span<const std::uint64_t> ContainerReader::lower(std::uint64_t chunk) const {
  return impl_->bounds(impl_->metadata.table.lower, chunk);
}

std::span<const std::uint64_t> ContainerReader::upper(std::uint64_t chunk) const {
  return impl_->bounds(impl_->metadata.table.upper, chunk);
}

std::vector<std::uint64_t> ContainerReader::label_bytes() const { return impl_->metadata.label_bytes; }

std::vector<Labels> ContainerReader::labels() const {
  return read_container_labels(impl_->path, impl_->metadata.info, impl_->file_bytes);
}

std::uint64_t ContainerReader::buffer_bytes(std::uint64_t chunk) const { return buffer_bytes_of(extents(chunk)); }

std::uint64_t ContainerReader::scratch_bytes(std::uint64_t chunk) const {
  return scratch_bytes_of(extents(chunk), info().nnz_of_chunk(chunk));
}

ChunkView ContainerReader::read_chunk(std::uint64_t chunk, std::span<std::byte> buffer,
                                      std::span<std::byte> scratch) const {
  if (chunk >= info().chunk_count()) {
    throw Error(ErrorKind::invalid_argument, path().string() + ": there is no chunk " + std::to_string(chunk));
  }
  if (buffer.size() < buffer_bytes(chunk) || scratch.size() < scratch_bytes(chunk)) {
    throw Error(ErrorKind::invalid_argument, path().string() + ": chunk " + std::to_string(chunk) +
                                                 " does not fit the buffer or the scratch that it is to be read into");
  }
  const std::vector<StoredExtents>* used = impl_->current;
  const auto fits = [&](const StoredExtents& row) {
    return buffer.size() >= buffer_bytes_of(row) && scratch.size() >= scratch_bytes_of(row, info().nnz_of_chunk(chunk));
  };
  const auto read = [&](const std::vector<StoredExtents>& extents) {
    const StoredExtents& row = extents[static_cast<std::size_t>(chunk)];
    if (!fits(row)) {
      throw Error(ErrorKind::corrupt, path().string() + ": chunk " + std::to_string(chunk) +
                                          " was rewritten after the file was opened; open it again");
    }
    return impl_->read(chunk, row, buffer, scratch);
  };
  try {
    return read(*used);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::corrupt || !impl_->repair(used, chunk)) throw;
  }
  return read(*impl_->current);
}

}  // namespace blco
