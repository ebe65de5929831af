// Reads, decompresses and verifies chunks by pread; asks HDF5 again if a chunk is not at its address.
#include "io/container/container_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "blco/error.hpp"
#include "blco/payload.hpp"
#include "blco/refuse.hpp"
#include "io/container/container_metadata.hpp"
#include "io/container/container_table.hpp"
#include "io/container/mode_data.hpp"
#include "io/file/file_descriptor.hpp"
#include "io/hdf5/hdf5_data.hpp"
#include "io/hdf5/hdf5_trailer.hpp"

namespace blco {
namespace {

// Linux reads no more per call than the disk's read-ahead.
constexpr std::uint64_t announced_bytes = std::uint64_t{128} << 10;

// Raw doubles may be byte-shuffled on disk; accept_column() restores their order through the scratch.
bool may_be_shuffled(const StoredExtent& extent, std::size_t column, std::uint64_t nnz) {
  return column == static_cast<std::size_t>(Column::value) &&
         extent.payload_bytes >= sizeof(PayloadHeader) + sizeof(double) * nnz + payload_padding;
}

bool is_compressed(const StoredExtent& extent) { return (extent.filter_mask & zstd_skipped) == 0; }

// Scratch for a chunk's columns, read one after the other.
std::uint64_t column_scratch_bytes(const StoredExtents& row, std::uint64_t nnz) {
  std::uint64_t bytes = 0;
  for (std::size_t c = 0; c < column_count; ++c) {
    if (is_compressed(row[c])) bytes = std::max(bytes, row[c].stored_bytes);
    if (may_be_shuffled(row[c], c, nnz)) bytes = std::max(bytes, row[c].payload_bytes);
  }
  return bytes;
}

struct StoredFile {
  int descriptor = -1;
  const DirectFile* direct = nullptr;  // null: reads go through the system's cache
  std::span<std::byte> room = {};      // direct_room_bytes; with `direct`
};

void decompress(std::span<const std::byte> stored, std::span<std::byte> payload) {
  const std::size_t written = ZSTD_decompress(payload.data(), payload.size(), stored.data(), stored.size());
  if (ZSTD_isError(written)) {
    throw Error(ErrorKind::corrupt, std::string("zstd cannot decompress it: ") + ZSTD_getErrorName(written));
  }
  if (written != payload.size()) throw Error(ErrorKind::corrupt, "it decompresses to another size than was written");
}

// Read and summed up at a time: little enough that the sum finds it in the core's cache, where it takes a fifth of the
// time of the read (22 GB/s against 7 from memory), and enough that a system call is cheap by comparison.
constexpr std::size_t summed_bytes = std::size_t{256} << 10;

// Fills `out` from the file; `summed` gets piece by piece what has just arrived.
template <class Summed>
void fill(const StoredFile& file, std::uint64_t address, std::span<std::byte> out, const Summed& summed) {
  while (file.direct != nullptr && !out.empty()) {
    std::span<const std::byte> read = file.direct->read(address, out.size(), file.room);
    if (read.empty()) break;
    address += read.size();
    while (!read.empty()) {
      const std::size_t bytes = std::min(summed_bytes, read.size());
      std::memcpy(out.data(), read.data(), bytes);
      summed(out.first(bytes));
      out = out.subspan(bytes);
      read = read.subspan(bytes);
    }
  }
  while (!out.empty()) {
    const std::span<std::byte> piece = out.first(std::min(summed_bytes, out.size()));
    read_at(file.descriptor, address, piece);
    summed(piece);
    address += piece.size();
    out = out.subspan(piece.size());
  }
}

// Reads a payload, decompressing it through the scratch. Here and below: throws Error io, or corrupt without a place,
// which the caller adds.
void read_column(const StoredFile& file, const StoredExtent& extent, std::span<std::byte> payload,
                 std::span<std::byte> scratch) {
  const auto unsummed = [](std::span<const std::byte>) {};
  if (!is_compressed(extent)) return fill(file, extent.address, payload, unsummed);
  const std::span<std::byte> stored = scratch.first(static_cast<std::size_t>(extent.stored_bytes));
  fill(file, extent.address, stored, unsummed);
  decompress(stored, payload);
}

void accept(Codec codec, std::size_t column, std::span<std::byte> payload, std::span<std::byte> scratch) {
  const bool is_value = column == static_cast<std::size_t>(Column::value);
  if ((codec == Codec::line) == is_value) throw Error(ErrorKind::corrupt, "its codec does not belong to this column");
  if (codec == Codec::f64_shuffled) {
    const std::span<std::byte> shuffled = scratch.first(payload.size());
    std::memcpy(shuffled.data(), payload.data(), payload.size());
    unshuffle_f64(shuffled, payload);
  }
}

// Checks a payload that was read, and unshuffles raw doubles through the scratch.
void accept_column(std::size_t column, std::uint64_t nnz, std::span<std::byte> payload, std::span<std::byte> scratch) {
  accept(check_payload(payload, nnz).codec, column, payload, scratch);
}

// Reads and checks a payload, and unshuffles raw doubles.
void load_column(const StoredFile& file, const StoredExtent& extent, std::size_t column, std::uint64_t nnz,
                 std::span<std::byte> payload, std::span<std::byte> scratch) {
  if (is_compressed(extent) || payload.size() < sizeof(PayloadHeader)) {
    read_column(file, extent, payload, scratch);
    return accept_column(column, nnz, payload, scratch);
  }
  PayloadChecksum checksum;
  fill(file, extent.address, payload, [&](std::span<const std::byte> piece) { checksum.add(piece); });
  accept(check_payload(payload, nnz, checksum).codec, column, payload, scratch);
}

// Long enough that a system call is cheap by comparison, short enough that the threads finish together.
constexpr std::uint64_t piece_bytes = std::uint64_t{512} << 10;

// Splits uncompressed columns into pieces; the thread that reads a column's last piece checks the column.
class PiecewiseRead final : public ChunkRead {
 public:
  PiecewiseRead(const ChunkSource& source, int descriptor, const StoredExtents& row, const ChunkView& view,
                std::span<std::byte> buffer, std::span<std::byte> scratch)
      : source_(source), descriptor_(descriptor), row_(row), view_(view), buffer_(buffer), scratch_(scratch) {
    for (std::size_t c = 0; c < column_count; ++c) {
      const std::uint64_t bytes = view_.payload[c].size();
      const std::uint64_t step = is_compressed(row_[c]) ? std::max<std::uint64_t>(bytes, 1) : piece_bytes;
      for (std::uint64_t first = 0; first < bytes; first += step) {
        pieces_.push_back({c, first, std::min(step, bytes - first)});
        ++pieces_left_[c];
      }
    }
  }

  std::size_t pieces() const override { return pieces_.size(); }

  void read(std::size_t at) noexcept override {
    const Piece& piece = pieces_[at];
    try {
      if (!has_failed_) read(piece);
      if (--pieces_left_[piece.column] == 0 && !has_failed_) accept(piece.column);
    } catch (...) {
      has_failed_ = true;
    }
  }

  ChunkView finish() override { return has_failed_ ? source_.read_chunk(view_.number, buffer_, scratch_) : view_; }

 private:
  struct Piece {
    std::size_t column;
    std::uint64_t first;
    std::uint64_t bytes;
  };

  // The column's payload within the buffer.
  std::span<std::byte> payload(std::size_t column) const {
    const std::span<const std::byte> payload = view_.payload[column];
    return buffer_.subspan(static_cast<std::size_t>(payload.data() - buffer_.data()), payload.size());
  }

  void read(const Piece& piece) {
    const StoredExtent& extent = row_[piece.column];
    if (!is_compressed(extent)) {
      return read_at(descriptor_, extent.address + piece.first,
                     payload(piece.column).subspan(piece.first, piece.bytes));
    }
    const std::lock_guard lock(scratch_mutex_);
    read_column({descriptor_}, extent, payload(piece.column), scratch_);
  }

  void accept(std::size_t column) {
    if (!may_be_shuffled(row_[column], column, view_.nnz)) return accept_column(column, view_.nnz, payload(column), {});
    const std::lock_guard lock(scratch_mutex_);
    accept_column(column, view_.nnz, payload(column), scratch_);
  }

  const ChunkSource& source_;
  int descriptor_;
  StoredExtents row_;
  ChunkView view_;
  std::span<std::byte> buffer_;
  std::span<std::byte> scratch_;
  std::vector<Piece> pieces_;
  std::array<std::atomic<std::size_t>, column_count> pieces_left_{};
  std::atomic<bool> has_failed_ = false;
  std::mutex scratch_mutex_;
};

std::uint64_t buffer_bytes_of(const StoredExtents& row) {
  std::uint64_t bytes = 0;
  for (const StoredExtent& extent : row) bytes += payload_slot_bytes(extent.payload_bytes);
  return bytes;
}

bool fits(const StoredExtents& row, std::uint64_t nnz, std::span<const std::byte> buffer,
          std::span<const std::byte> scratch) {
  return buffer.size() >= buffer_bytes_of(row) && scratch.size() >= column_scratch_bytes(row, nnz);
}

}  // namespace

bool is_container(const std::filesystem::path& path) noexcept {
  std::error_code ignored;  // a pipe would wait, and lose what is read of it
  return std::filesystem::is_regular_file(path, ignored) && has_format(path, container_format);
}

struct ContainerReader::Impl {
  // The file, for its chunks and those of copies.
  struct OpenFile {
    explicit OpenFile(const std::filesystem::path& file_path)
        : path(file_path),
          file(open_readable(path, bytes)),
          // The same file, whatever its path names by now.
          direct("/proc/self/fd/" + std::to_string(file.get())) {}

    std::filesystem::path path;
    std::uint64_t bytes = 0;
    FileDescriptor file;
    DirectFile direct;
  };

  Impl(std::shared_ptr<const OpenFile> open, StoredChunks stored, std::string place_name);

  // A view of where a chunk's payloads will lie.
  ChunkView place(std::uint64_t chunk, const StoredExtents& row, std::span<std::byte> buffer) const;
  ChunkView read(std::uint64_t chunk, const StoredExtents& row, std::span<std::byte> buffer,
                 std::span<std::byte> scratch) const;
  // Asks HDF5 at most once for new addresses. Returns whether there are extents newer than `used`.
  bool repair(const std::vector<StoredExtents>* used, std::uint64_t chunk);
  std::span<const std::uint64_t> bounds(const std::vector<std::uint64_t>& of, std::uint64_t chunk) const {
    const std::size_t order = chunks.info.shape.size();
    return std::span(of).subspan(static_cast<std::size_t>(chunk) * order, order);
  }

  std::shared_ptr<const OpenFile> opened;
  StoredChunks chunks;
  std::string name;                   // in messages
  std::uint64_t largest_scratch = 0;  // of any chunk
  std::vector<std::uint64_t> label_bytes = {};
  std::map<std::uint64_t, ContainerReader> copies = {};
  // Of what is read by the path: throws Error{io} if that names another file by now.
  void check_identity() const;

  std::atomic<const std::vector<StoredExtents>*> current{nullptr};
  std::mutex repair_mutex;
  bool repair_tried = false;
  std::vector<StoredExtents> repaired;
};

ContainerReader::Impl::Impl(std::shared_ptr<const OpenFile> open, StoredChunks stored, std::string place_name)
    : opened(std::move(open)), chunks(std::move(stored)), name(std::move(place_name)) {
  current = &chunks.table.extents;
  for (std::uint64_t chunk = 0; chunk < chunks.table.extents.size(); ++chunk) {
    const StoredExtents& row = chunks.table.extents[static_cast<std::size_t>(chunk)];
    largest_scratch =
        std::max<std::uint64_t>(largest_scratch, column_scratch_bytes(row, chunks.info.nnz_of_chunk(chunk)));
  }
}

void ContainerReader::Impl::check_identity() const {
  struct stat held {};
  struct stat named {};
  if (::fstat(opened->file.get(), &held) == 0 && ::stat(opened->path.c_str(), &named) == 0 &&
      held.st_dev == named.st_dev && held.st_ino == named.st_ino) {
    return;
  }
  throw Error(ErrorKind::io,
              opened->path.string() + " was replaced or removed after it had been opened; open it again");
}

ChunkView ContainerReader::Impl::place(std::uint64_t chunk, const StoredExtents& row,
                                       std::span<std::byte> buffer) const {
  ChunkView view;
  view.number = chunk;
  view.nnz = chunks.info.nnz_of_chunk(chunk);
  view.lower = bounds(chunks.table.lower, chunk);
  view.upper = bounds(chunks.table.upper, chunk);
  std::size_t offset = 0;
  for (std::size_t c = 0; c < column_count; ++c) {
    const auto bytes = static_cast<std::size_t>(row[c].payload_bytes);
    if (bytes == 0) continue;
    view.payload[c] = buffer.subspan(offset, bytes);
    offset += static_cast<std::size_t>(payload_slot_bytes(bytes));
  }
  return view;
}

ChunkView ContainerReader::Impl::read(std::uint64_t chunk, const StoredExtents& row, std::span<std::byte> buffer,
                                      std::span<std::byte> scratch) const {
  const ChunkView view = place(chunk, row, buffer);
  StoredFile stored{opened->file.get()};
  if (opened->direct.is_open() && scratch.size() >= largest_scratch + direct_room_bytes) {
    stored.direct = &opened->direct;
    stored.room = scratch.last(direct_room_bytes);
    scratch = scratch.first(scratch.size() - direct_room_bytes);
  }
  for (std::size_t c = 0; c < column_count; ++c) {
    if (view.payload[c].empty()) continue;
    const auto offset = static_cast<std::size_t>(view.payload[c].data() - buffer.data());
    const std::span<std::byte> payload = buffer.subspan(offset, view.payload[c].size());
    try {
      load_column(stored, row[c], c, view.nnz, payload, scratch);
    } catch (const Error& error) {
      throw Error(error.kind(), name + ": chunk " + std::to_string(chunk) + ", column " + column_names[c] + ": " +
                                    error.what() + "; restore the file from a copy, or ingest it again");
    }
  }
  return view;
}

bool ContainerReader::Impl::repair(const std::vector<StoredExtents>* used, std::uint64_t chunk) {
  const std::lock_guard lock(repair_mutex);
  if (!repair_tried) {
    try {
      // The chunk is damaged in place: listing all chunks would take HDF5 long and not help.
      const std::filesystem::path& path = opened->path;
      if (is_chunk_in_place(path, chunks, chunk, (*used)[static_cast<std::size_t>(chunk)])) return false;
      repair_tried = true;
      repaired = rebuild_extents(path, opened->file.get(), opened->bytes, chunks);
      current = &repaired;
    } catch (const Error&) {
      // The original error says more than a failure of the repair.
      repair_tried = true;
    }
  }
  return current != used;
}

ContainerReader::ContainerReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ContainerReader::ContainerReader(const std::filesystem::path& path) {
  const auto open = std::make_shared<const Impl::OpenFile>(path);
  ContainerMetadata metadata = read_container_metadata(path, open->file.get(), open->bytes);
  impl_ = std::make_unique<Impl>(open, std::move(metadata.natural), path.string());
  impl_->label_bytes = std::move(metadata.label_bytes);
  for (auto& [mode, copy] : metadata.copies) {
    const std::string name = path.string() + ", copy in the order of mode " + std::to_string(mode);
    impl_->copies.emplace(mode, ContainerReader(std::make_unique<Impl>(open, std::move(copy), name)));
  }
}
ContainerReader::ContainerReader(const std::filesystem::path& path, StoredChunks chunks, std::string name)
    : impl_(std::make_unique<Impl>(std::make_shared<const Impl::OpenFile>(path), std::move(chunks), std::move(name))) {}
ContainerReader::~ContainerReader() = default;
ContainerReader::ContainerReader(ContainerReader&&) noexcept = default;
ContainerReader& ContainerReader::operator=(ContainerReader&&) noexcept = default;

const std::filesystem::path& ContainerReader::path() const { return impl_->opened->path; }
std::string ContainerReader::name() const { return impl_->name; }
const ContainerInfo& ContainerReader::info() const { return impl_->chunks.info; }
std::uint64_t ContainerReader::file_bytes() const { return impl_->opened->bytes; }

bool ContainerReader::has_checksum() const {
  return has_trailer(impl_->opened->file.get(), impl_->opened->path, impl_->opened->bytes);
}

const ChunkSource* ContainerReader::ordered_copy(std::uint64_t mode) const {
  const auto copy = impl_->copies.find(mode);
  return copy == impl_->copies.end() ? nullptr : &copy->second;
}

std::vector<std::uint32_t> ContainerReader::reordering(std::uint64_t mode) const {
  for (const ReorderedMode& reordered : info().reordered) {
    if (reordered.mode != mode) continue;
    impl_->check_identity();
    return read_reordering(path(), reordered, info().shape.at(mode));
  }
  return {};
}

const StoredExtents& ContainerReader::extents(std::uint64_t chunk) const {
  return impl_->chunks.table.extents.at(static_cast<std::size_t>(chunk));
}

std::span<const std::uint64_t> ContainerReader::lower(std::uint64_t chunk) const {
  return impl_->bounds(impl_->chunks.table.lower, chunk);
}

std::span<const std::uint64_t> ContainerReader::upper(std::uint64_t chunk) const {
  return impl_->bounds(impl_->chunks.table.upper, chunk);
}

std::vector<std::uint64_t> ContainerReader::label_bytes() const { return impl_->label_bytes; }

std::vector<Labels> ContainerReader::labels() const {
  impl_->check_identity();
  return read_container_labels(path(), info(), file_bytes());
}

std::uint64_t ContainerReader::buffer_bytes(std::uint64_t chunk) const { return buffer_bytes_of(extents(chunk)); }

std::uint64_t ContainerReader::scratch_bytes(std::uint64_t chunk) const {
  return column_scratch_bytes(extents(chunk), info().nnz_of_chunk(chunk));
}

void ContainerReader::check_room(std::uint64_t chunk, std::span<std::byte> buffer, std::span<std::byte> scratch) const {
  if (chunk >= info().chunk_count()) {
    refuse(name() + ": there is no chunk " + std::to_string(chunk));
  }
  if (buffer.size() < buffer_bytes(chunk) || scratch.size() < scratch_bytes(chunk)) {
    refuse(name() + ": chunk " + std::to_string(chunk) + " does not fit into the given buffer or scratch");
  }
}

std::unique_ptr<ChunkRead> ContainerReader::begin_read(std::uint64_t chunk, std::span<std::byte> buffer,
                                                       std::span<std::byte> scratch) const {
  check_room(chunk, buffer, scratch);
  const StoredExtents& latest = (*impl_->current)[static_cast<std::size_t>(chunk)];
  const StoredExtents& row = fits(latest, info().nnz_of_chunk(chunk), buffer, scratch) ? latest : extents(chunk);
  return std::make_unique<PiecewiseRead>(*this, impl_->opened->file.get(), row, impl_->place(chunk, row, buffer),
                                         buffer, scratch);
}

void ContainerReader::announce_read(std::uint64_t chunk) const {
  for (const StoredExtent& extent : (*impl_->current).at(static_cast<std::size_t>(chunk))) {
    for (std::uint64_t first = 0; first < extent.stored_bytes; first += announced_bytes) {
      // Only advice, so a failure does not matter.
      static_cast<void>(::posix_fadvise(impl_->opened->file.get(), static_cast<off_t>(extent.address + first),
                                        static_cast<off_t>(std::min(announced_bytes, extent.stored_bytes - first)),
                                        POSIX_FADV_WILLNEED));
    }
  }
}

ChunkView ContainerReader::read_chunk(std::uint64_t chunk, std::span<std::byte> buffer,
                                      std::span<std::byte> scratch) const {
  check_room(chunk, buffer, scratch);
  const std::vector<StoredExtents>* used = impl_->current;
  const auto read = [&](const std::vector<StoredExtents>& extents) {
    const StoredExtents& row = extents[static_cast<std::size_t>(chunk)];
    if (!fits(row, info().nnz_of_chunk(chunk), buffer, scratch)) {
      throw Error(ErrorKind::corrupt, name() + ": chunk " + std::to_string(chunk) +
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
