// Reads and checks the metadata of a container, and rebuilds the chunk addresses if chunks have moved.
#include "io/container/container_metadata.hpp"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "blco/layout.hpp"
#include "blco/payload.hpp"
#include "io/container/mode_data.hpp"
#include "io/file/file_descriptor.hpp"
#include "io/hdf5/frame_filter.hpp"
#include "io/hdf5/hdf5_data.hpp"

namespace blco {
namespace {

// Every stored index chunk is at least this large, so the number of chunks can be checked against the file size.
constexpr std::uint64_t min_stored_chunk_bytes = 16;
// Bytes of a zstd frame's start, up to and including its content size.
constexpr std::size_t zstd_header_bytes = 18;

std::string column_name(std::size_t column) { return std::string("the column ") + column_names[column]; }

void check_container_format(const Hdf5Place& place, hid_t root) {
  const Hdf5Place wrong_file = {place.path, ErrorKind::invalid_argument};
  if (!has_attribute(place, root, "format")) {
    fail_at(wrong_file,
            "not a BLCO container: it is HDF5, but has no attribute format; make a container with blco-ingest");
  }
  const std::string format = read_text(wrong_file, root, "format", max_format_bytes);
  if (format == model_format || format == tucker_format)
    fail_at(wrong_file, "it is a model, not a tensor; give the container that it was fitted to");
  if (format != container_format)
    fail_at(wrong_file, "not a BLCO container: its format is \"" + format + "\"; make a container with blco-ingest");
  check_version(place, root, "container", container_version);
  if (!has_attribute(place, root, "complete") || read_integer(place, root, "complete") != 1) {
    fail_at(place, "the container is incomplete: its writer did not finish");
  }
}

ContainerInfo read_info(const Hdf5Place& place, hid_t root, std::uint64_t file_bytes) {
  ContainerInfo info;
  info.shape = read_integers(place, root, "shape", static_cast<std::uint64_t>(max_order));
  info.nnz = read_integer(place, root, "nnz");
  info.chunk_nnz = read_integer(place, root, "chunk_nnz");
  info.mode_names = read_texts(place, root, "mode_names", static_cast<std::uint64_t>(max_order), max_name_bytes);
  if (has_attribute(place, root, "value_name")) {
    info.value_name = read_text(place, root, "value_name", max_name_bytes);
  }
  info.reading = read_reading(place, root, info.shape.size());
  info.sum_of_squares = read_real(place, root, "sum_of_squares");
  if (info.mode_names.size() != info.shape.size()) fail_at(place, "mode_names and shape differ in length");
  if (info.chunk_nnz == 0 || info.chunk_nnz > max_chunk_nnz) {
    fail_at(place, "chunk_nnz is " + std::to_string(info.chunk_nnz) + ", not 1 to " + std::to_string(max_chunk_nnz));
  }
  // The sum in chunk_count() must not wrap.
  if (info.nnz == 0 || info.nnz > UINT64_MAX - max_chunk_nnz ||
      info.chunk_count() > file_bytes / min_stored_chunk_bytes) {
    fail_at(place, "nnz is " + std::to_string(info.nnz) + ", which the file cannot hold");
  }
  if (!std::isfinite(info.sum_of_squares) || info.sum_of_squares < 0)
    fail_at(place, "sum_of_squares is " + std::to_string(info.sum_of_squares) + ", which cannot be a sum of squares");
  return info;
}

Hdf5Id open_needed_group(const Hdf5Place& place, hid_t parent, const std::string& name) {
  if (!has_link(place, parent, name.c_str())) fail_at(place, "the group " + name + " is missing");
  return own(H5Gopen2(parent, name.c_str(), H5P_DEFAULT), H5Gclose, place, "cannot open the group", name);
}

ChunkTable read_table(const Hdf5Place& place, hid_t root, const ContainerInfo& info, std::uint64_t file_bytes) {
  const Hdf5Id group = open_needed_group(place, root, "chunks");
  const Extents by_column = {info.chunk_count(), column_count};
  const Extents by_mode = {info.chunk_count(), info.shape.size()};
  const auto read = [&](const char* name, const Extents& extents) {
    return read_dataset<std::uint64_t>(place, group.get(), name, extents, file_bytes);
  };
  const std::vector<std::uint64_t> address = read("address", by_column);
  const std::vector<std::uint64_t> stored_bytes = read("stored_bytes", by_column);
  const std::vector<std::uint64_t> payload_bytes = read("payload_bytes", by_column);
  const std::vector<std::uint32_t> mask =
      read_dataset<std::uint32_t>(place, group.get(), "filter_mask", by_column, file_bytes);
  ChunkTable table;
  table.extents.resize(static_cast<std::size_t>(info.chunk_count()));
  for (std::size_t i = 0; i < address.size(); ++i) {
    table.extents[i / column_count][i % column_count] = {address[i], stored_bytes[i], payload_bytes[i], mask[i]};
  }
  table.lower = read("lower", by_mode);
  table.upper = read("upper", by_mode);
  return table;
}

void check_bounds(const Hdf5Place& place, const ContainerInfo& info, const ChunkTable& table) {
  for (std::size_t i = 0; i < table.lower.size(); ++i) {
    if (table.lower[i] > table.upper[i] || table.upper[i] >= info.shape[i % info.shape.size()]) {
      fail_at(place, "chunk " + std::to_string(i / info.shape.size()) + ": its bounds lie outside the shape");
    }
  }
}

TensorLayout make_layout(const Hdf5Place& place, const ContainerInfo& info) {
  try {
    return layout_of(info);
  } catch (const Error& error) {
    fail_at(place, error.what());
  }
}

// Checks the columns' sizes and filters; otherwise their chunks would not be payloads.
void check_column(const Hdf5Place& place, hid_t dataset, std::size_t column, const ContainerInfo& info) {
  const std::string name = column_name(column);
  if (dataset_extents(place, dataset, column_names[column]) != Extents{info.nnz}) {
    fail_at(place, name + " does not have nnz entries");
  }
  const Hdf5Id creation = own(H5Dget_create_plist(dataset), H5Pclose, place, "cannot read the layout of", name);
  hsize_t chunk = 0;
  if (H5Pget_layout(creation.get()) != H5D_CHUNKED || H5Pget_chunk(creation.get(), 1, &chunk) != 1 ||
      chunk != info.chunk_nnz) {
    fail_at(place, name + " is not stored in chunks of chunk_nnz entries");
  }
  const auto filter = [&](unsigned position) {
    unsigned flags = 0;
    std::size_t values = 0;
    return H5Pget_filter2(creation.get(), position, &flags, &values, nullptr, 0, nullptr, nullptr);
  };
  std::array<unsigned, 3> frame_data{};
  std::size_t frame_data_count = frame_data.size();
  unsigned frame_flags = 0;
  const H5Z_filter_t first_filter =
      H5Pget_filter2(creation.get(), 0, &frame_flags, &frame_data_count, frame_data.data(), 0, nullptr, nullptr);
  const unsigned kind = static_cast<Column>(column) == Column::value ? value_column_kind : line_column_kind;
  const std::array<unsigned, 3> expected = {frame_filter_version, kind, static_cast<unsigned>(info.chunk_nnz)};
  if (first_filter == frame_filter_id && (frame_data_count != expected.size() || frame_data != expected)) {
    fail_at(place, name + " has a frame filter for chunks of another kind or size");
  }
  if (H5Pget_nfilters(creation.get()) != 2 || filter(0) != frame_filter_id || filter(1) != zstd_filter_id) {
    fail_at(place, name + " does not have the filters of the format (frames, then zstd)");
  }
}

// True if the sizes are safe to allocate by, and the place is inside the file.
bool is_possible(const StoredExtent& extent, std::uint64_t entries, std::uint64_t file_bytes) {
  if (extent.payload_bytes < sizeof(PayloadHeader) + payload_padding ||
      extent.payload_bytes > max_payload_bytes(entries) || (extent.filter_mask & ~zstd_skipped) != 0) {
    return false;
  }
  const bool plain = extent.filter_mask == zstd_skipped;
  const bool size_fits = plain ? extent.stored_bytes == extent.payload_bytes
                               : extent.stored_bytes <= ZSTD_compressBound(extent.payload_bytes);
  return size_fits && extent.stored_bytes <= file_bytes && extent.address <= file_bytes - extent.stored_bytes;
}

bool is_absent(const StoredExtent& extent) { return extent.payload_bytes == 0; }

// A caller also allocates by stored_bytes, so that must be zero too.
bool is_empty(const StoredExtent& extent) { return is_absent(extent) && extent.stored_bytes == 0; }

// True if a row of the table has exactly the columns that it must have.
bool has_right_columns(const StoredExtents& row, bool has_high_word) {
  return !is_absent(row[0]) && is_absent(row[1]) != has_high_word;
}

using Datasets = std::array<Hdf5Id, column_count>;

Datasets open_columns(const Hdf5Place& place, hid_t root, bool has_high_word) {
  Datasets datasets;
  for (std::size_t c = 0; c < column_count; ++c) {
    if (c != static_cast<std::size_t>(Column::high_word) || has_high_word) {
      datasets[c] = open_dataset(place, root, column_names[c]);
    }
  }
  return datasets;
}

// Compares one chunk of every column with HDF5's index.
bool is_current(const Hdf5Place& place, const Datasets& datasets, const ContainerInfo& info, std::uint64_t chunk,
                const StoredExtents& hints) {
  for (std::size_t c = 0; c < column_count; ++c) {
    const StoredExtent& hint = hints[c];
    if (is_absent(hint)) continue;
    const StoredExtent now = find_chunk(place, datasets[c].get(), info, chunk);
    if (now.address != hint.address || now.stored_bytes != hint.stored_bytes || now.filter_mask != hint.filter_mask) {
      return false;
    }
  }
  return true;
}

// Checks the first, middle and last chunk: a tool that rewrites a file moves all chunks.
bool is_current(const Hdf5Place& place, const Datasets& datasets, const ContainerInfo& info, const ChunkTable& table) {
  const std::uint64_t last = info.chunk_count() - 1;
  return std::ranges::all_of(std::array{std::uint64_t{0}, last / 2, last}, [&](std::uint64_t chunk) {
    return is_current(place, datasets, info, chunk, table.extents[chunk]);
  });
}

std::uint64_t find_payload_bytes(int descriptor, const StoredExtent& extent) {
  if (extent.filter_mask == zstd_skipped) return extent.stored_bytes;
  std::array<std::byte, zstd_header_bytes> start{};
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(start.size(), extent.stored_bytes));
  read_at(descriptor, extent.address, std::span(start).first(count));
  // zstd's codes for an error and for an unknown size are the largest numbers, so every bound rejects them.
  return ZSTD_getFrameContentSize(start.data(), count);
}

std::vector<StoredExtents> rebuild(const Hdf5Place& place, const Datasets& datasets, int descriptor,
                                   std::uint64_t file_bytes, const ContainerInfo& info, const ChunkTable& table) {
  std::vector<StoredExtents> extents(table.extents.size());
  for (std::size_t c = 0; c < column_count; ++c) {
    if (!datasets[c].is_open()) continue;
    for (const IndexedChunk& found : read_chunk_index(place, datasets[c].get(), info)) {
      // If the table has no values, all are 1, even if some tool has since written them out.
      if (is_absent(table.extents[found.chunk][c])) continue;
      StoredExtent extent = found.extent;
      if (extent.address <= file_bytes) extent.payload_bytes = find_payload_bytes(descriptor, extent);
      if (!is_possible(extent, info.chunk_nnz, file_bytes)) {
        fail_at(place, "chunk " + std::to_string(found.chunk) + ", column " + column_names[c] +
                           ": HDF5's chunk index has an impossible place, size or filter mask for it");
      }
      extents[found.chunk][c] = extent;
    }
    for (std::size_t chunk = 0; chunk < extents.size(); ++chunk) {
      if (is_absent(extents[chunk][c]) != is_absent(table.extents[chunk][c])) {
        fail_at(place, "chunk " + std::to_string(chunk) + ", column " + column_names[c] + ": it is not in the file");
      }
    }
  }
  return extents;
}

// Throws for damage that h5repack cannot have caused; returns whether all addresses and sizes are possible.
bool check_extents(const Hdf5Place& place, const ContainerInfo& info, const ChunkTable& table, bool has_high_word,
                   std::uint64_t file_bytes) {
  bool possible = true;
  for (std::uint64_t chunk = 0; chunk < info.chunk_count(); ++chunk) {
    const StoredExtents& row = table.extents[chunk];
    if (!has_right_columns(row, has_high_word)) {
      fail_at(place, "chunk " + std::to_string(chunk) + ": the chunk table has the wrong columns for it");
    }
    for (const StoredExtent& extent : row) {
      possible = possible && (is_empty(extent) || is_possible(extent, info.nnz_of_chunk(chunk), file_bytes));
    }
  }
  return possible;
}

struct OpenColumns {
  OpenColumns(const std::filesystem::path& path, const StoredChunks& chunks)
      : place{path, ErrorKind::corrupt},
        file(open_hdf5_file(place)),
        group(open_needed_group(place, file.get(), chunks.group)),
        datasets(open_columns(place, group.get(), layout_of(chunks.info).has_high_word())) {}

  const QuietHdf5 quiet;
  Hdf5Place place;
  Hdf5Id file;
  Hdf5Id group;
  Datasets datasets;
};

// Runs work on the copy in the order of a mode, of which the message of an error then speaks.
template <class Work>
auto in_copy(std::uint64_t mode, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw Error(error.kind(),
                std::string(error.what()) + " (in the copy in the order of mode " + std::to_string(mode) + ")");
  }
}

StoredChunks read_copy(const Hdf5Place& place, hid_t root, const ContainerInfo& natural, std::uint32_t crc,
                       std::uint64_t mode, std::uint64_t file_bytes) {
  StoredChunks copy{copy_group(mode), natural, {}};
  const Hdf5Id group = open_needed_group(place, root, copy.group);
  for (const std::uint64_t of : read_integers(place, group.get(), "bits", max_line_bits)) {
    if (of >= natural.shape.size()) fail_at(place, "it has a bit of a mode that the tensor does not have");
    copy.info.bit_modes.push_back(static_cast<std::uint8_t>(of));
  }
  copy.table = read_table(place, group.get(), copy.info, file_bytes);
  if (read_integer(place, group.get(), "crc32c") != copy_crc(crc, mode, copy.info.bit_modes, copy.table)) {
    fail_at(place, "the checksum of bits and chunk table does not match");
  }
  if (!make_layout(place, copy.info).is_sorted_by(static_cast<int>(mode)) ||
      copy.info.bit_modes == natural_bit_modes(natural.shape)) {
    fail_at(place, "the bits of its mode do not lie above all others, or it is in the natural order");
  }
  return copy;
}

// Of their table and columns; rebuilds extents that are out of date.
void check_chunks(const Hdf5Place& place, hid_t group, StoredChunks& chunks, int descriptor, std::uint64_t file_bytes) {
  const ContainerInfo& info = chunks.info;
  const bool has_high_word = make_layout(place, info).has_high_word();
  check_bounds(place, info, chunks.table);
  const Datasets datasets = open_columns(place, group, has_high_word);
  for (std::size_t c = 0; c < column_count; ++c) {
    if (datasets[c].is_open()) check_column(place, datasets[c].get(), c, info);
  }
  if (!check_extents(place, info, chunks.table, has_high_word, file_bytes) ||
      !is_current(place, datasets, info, chunks.table)) {
    chunks.table.extents = rebuild(place, datasets, descriptor, file_bytes, info, chunks.table);
  }
}

}  // namespace

ContainerMetadata read_container_metadata(const std::filesystem::path& path, int descriptor, std::uint64_t file_bytes) {
  const QuietHdf5 quiet;
  const Hdf5Id file = open_hdf5_file({path, ErrorKind::io});
  const Hdf5Place place = {path, ErrorKind::corrupt};
  check_container_format(place, file.get());
  ContainerMetadata metadata;
  StoredChunks& natural = metadata.natural;
  natural.group = "/";
  natural.info = read_info(place, file.get(), file_bytes);
  natural.info.reordered = find_reordered(place, file.get(), natural.info.shape, file_bytes);
  natural.table = read_table(place, file.get(), natural.info, file_bytes);
  const std::uint32_t crc = metadata_crc(natural.info, natural.table);
  if (read_integer(place, file.get(), "crc32c") != crc) {
    fail_at(place, "the checksum of attributes and chunk table does not match");
  }
  check_chunks(place, file.get(), natural, descriptor, file_bytes);
  for (std::uint64_t mode = 0; mode < natural.info.shape.size(); ++mode) {
    if (!has_link(place, file.get(), copies_group)) break;
    if (!has_link(place, file.get(), copy_group(mode).c_str())) continue;
    StoredChunks copy =
        in_copy(mode, [&] { return read_copy(place, file.get(), natural.info, crc, mode, file_bytes); });
    in_copy(mode, [&] {
      check_chunks(place, open_needed_group(place, file.get(), copy.group).get(), copy, descriptor, file_bytes);
    });
    metadata.copies.emplace(mode, std::move(copy));
  }
  metadata.label_bytes = find_label_bytes(place, file.get(), natural.info.shape, file_bytes);
  return metadata;
}

std::vector<Labels> read_container_labels(const std::filesystem::path& path, const ContainerInfo& info,
                                          std::uint64_t file_bytes) {
  const QuietHdf5 quiet;
  const Hdf5Id file = open_hdf5_file({path, ErrorKind::io});
  return read_labels({path, ErrorKind::corrupt}, file.get(), info.shape, file_bytes);
}

bool is_chunk_in_place(const std::filesystem::path& path, const StoredChunks& chunks, std::uint64_t chunk,
                       const StoredExtents& extents) {
  const OpenColumns open(path, chunks);
  return is_current(open.place, open.datasets, chunks.info, chunk, extents);
}

std::vector<StoredExtents> rebuild_extents(const std::filesystem::path& path, int descriptor, std::uint64_t file_bytes,
                                           const StoredChunks& chunks) {
  const OpenColumns open(path, chunks);
  return rebuild(open.place, open.datasets, descriptor, file_bytes, chunks.info, chunks.table);
}

}  // namespace blco
