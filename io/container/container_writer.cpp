// Compresses payloads, writes them as HDF5 chunks, and publishes the complete container.
#include "io/container/container_writer.hpp"

#define ZSTD_STATIC_LINKING_ONLY  // for the estimate of its memory
#include <zstd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>
#include <utility>

#include "blco/error.hpp"
#include "blco/layout.hpp"
#include "blco/payload.hpp"
#include "blco/refuse.hpp"
#include "io/container/container_metadata.hpp"
#include "io/container/container_reader.hpp"
#include "io/container/container_table.hpp"
#include "io/container/mode_data.hpp"
#include "io/hdf5/frame_filter.hpp"
#include "io/hdf5/hdf5_data.hpp"
#include "io/hdf5/hdf5_output.hpp"

namespace blco {
namespace {

// Samples of a long payload are compressed first. Being short, they compress less well than the whole.
constexpr std::size_t sample_pieces = 8;
constexpr std::size_t sample_piece_bytes = std::size_t{1} << 14;
constexpr std::size_t sample_bytes = sample_pieces * sample_piece_bytes;

// Enough of a chunk's start to identify it, because it includes the checksum.
constexpr std::size_t checked_start = 4096;

// The compressed payload; empty if it is not smaller, or by less than `saving_percent`.
std::vector<std::byte> compress(std::span<const std::byte> payload, int level, int saving_percent) {
  const std::size_t max_bytes = ZSTD_compressBound(payload.size());
  const auto out = std::make_unique_for_overwrite<std::byte[]>(max_bytes);
  const std::size_t written = ZSTD_compress(out.get(), max_bytes, payload.data(), payload.size(), level);
  if (ZSTD_isError(written)) {
    throw Error(ErrorKind::out_of_memory, std::string("zstd cannot compress a chunk: ") + ZSTD_getErrorName(written));
  }
  const bool saves =
      written < payload.size() && 100 * written <= static_cast<std::size_t>(100 - saving_percent) * payload.size();
  if (!saves) return {};
  return {out.get(), out.get() + written};
}

bool is_hopeless(std::span<const std::byte> payload, int level, int saving_percent) {
  if (payload.size() < 4 * sample_bytes || saving_percent == 0) return false;
  std::vector<std::byte> sample;
  sample.reserve(sample_bytes);
  for (std::size_t piece = 0; piece < sample_pieces; ++piece) {
    const std::size_t middle = payload.size() * (2 * piece + 1) / (2 * sample_pieces);
    const auto first = payload.begin() + static_cast<std::ptrdiff_t>(middle - sample_piece_bytes / 2);
    sample.insert(sample.end(), first, first + static_cast<std::ptrdiff_t>(sample_piece_bytes));
  }
  return compress(sample, level, saving_percent / 2).empty();
}

// Returns nothing if compression does not pay.
std::vector<std::byte> compress_if_worthwhile(std::span<const std::byte> payload, int level, int saving_percent) {
  if (is_hopeless(payload, level, saving_percent)) return {};
  return compress(payload, level, saving_percent);
}

void set_filters(const Hdf5Place& place, hid_t creation, Column column, std::uint64_t chunk_nnz) {
  if (!register_filters()) fail_hdf5(place, "cannot register the filters of the format");
  const std::array<unsigned, 3> frame_data = {frame_filter_version,
                                              column == Column::value ? value_column_kind : line_column_kind,
                                              static_cast<unsigned>(chunk_nnz)};
  const std::array<unsigned, 1> zstd_data = {static_cast<unsigned>(default_zstd_level)};
  checked(H5Pset_filter(creation, frame_filter_id, H5Z_FLAG_MANDATORY, frame_data.size(), frame_data.data()), place,
          "cannot set the frame filter");
  checked(H5Pset_filter(creation, zstd_filter_id, H5Z_FLAG_OPTIONAL, zstd_data.size(), zstd_data.data()), place,
          "cannot set the zstd filter");
}

Hdf5Id create_column(const Hdf5Place& place, hid_t file, Column column, std::uint64_t chunk_nnz) {
  const char* name = column_names[static_cast<std::size_t>(column)];
  const hsize_t start = 0;
  const hsize_t unlimited = H5S_UNLIMITED;
  const hsize_t chunk = chunk_nnz;
  const bool is_value = column == Column::value;
  const Hdf5Id creation = make_properties(place, H5P_DATASET_CREATE);
  checked(H5Pset_chunk(creation.get(), 1, &chunk), place, "cannot set the chunk size of", name);
  checked(H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_INCR), place, "cannot set the allocation of", name);
  checked(H5Pset_obj_track_times(creation.get(), false), place, "cannot turn object times off");
  if (is_value) {
    const double one = 1.0;
    checked(H5Pset_fill_value(creation.get(), H5T_NATIVE_DOUBLE, &one), place, "cannot set the fill value of", name);
  } else {
    checked(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), place, "cannot set the fill time of", name);
  }
  set_filters(place, creation.get(), column, chunk_nnz);
  // Chunks bypass HDF5's cache on reading and writing.
  const Hdf5Id access = make_properties(place, H5P_DATASET_ACCESS);
  checked(H5Pset_chunk_cache(access.get(), 0, 0, 0), place, "cannot set the chunk cache of", name);
  const Hdf5Id space = own(H5Screate_simple(1, &start, &unlimited), H5Sclose, place, "cannot make a space");
  return own(H5Dcreate2(file, name, is_value ? H5T_IEEE_F64LE : H5T_STD_U64LE, space.get(), H5P_DEFAULT, creation.get(),
                        access.get()),
             H5Dclose, place, "cannot create the dataset", name);
}

void check_labels(const ContainerInfo& info, std::span<const Labels> labels) {
  bool fitting = labels.empty() || labels.size() == info.shape.size();
  for (std::size_t n = 0; fitting && n < labels.size(); ++n) {
    fitting = labels[n].empty() || labels[n].size() == info.shape[n];
  }
  if (!fitting) refuse("a mode must have no labels, or one per coordinate");
}

}  // namespace

StoredPayload store_payload(std::span<const std::byte> payload, int zstd_level, int saving_percent) {
  if (zstd_level < 0 || zstd_level > ZSTD_maxCLevel()) {
    refuse("zstd level " + std::to_string(zstd_level) + " is not between 0 and " + std::to_string(ZSTD_maxCLevel()));
  }
  StoredPayload stored;
  if (payload.empty()) return stored;
  stored.payload_bytes = payload.size();
  if (zstd_level > 0 && view_payload(payload).codec == Codec::f64) {
    std::vector<std::byte> shuffled(payload.size());
    shuffle_f64(payload, shuffled);
    stored.bytes = compress_if_worthwhile(shuffled, zstd_level, saving_percent);
  } else if (zstd_level > 0) {
    stored.bytes = compress_if_worthwhile(payload, zstd_level, saving_percent);
  }
  if (!stored.bytes.empty()) return stored;
  stored.bytes.assign(payload.begin(), payload.end());
  stored.filter_mask = zstd_skipped;
  return stored;
}

std::uint64_t store_payload_bytes(std::uint64_t payload_bytes, int zstd_level) {
  if (zstd_level == 0) return payload_bytes;
  const ZSTD_compressionParameters parameters = ZSTD_getCParams(zstd_level, payload_bytes, 0);
  // The shuffled payload, its compressed form, and zstd's own memory.
  return payload_bytes + ZSTD_compressBound(payload_bytes) + ZSTD_estimateCCtxSize_usingCParams(parameters);
}

struct ContainerWriter::Impl {
  Impl(const std::filesystem::path& target, TemporaryFile&& file, const ContainerInfo& given)
      : layout(given.shape), info(given), output({target, ErrorKind::io}, std::move(file)) {}
  // Before the datasets are closed, because closing may write.
  ~Impl() { output.abandon(); }

  // The chunks in the natural order, or those of a copy.
  struct Chunks {
    std::uint64_t mode = 0;  // of a copy
    BitModes bits = {};      // likewise
    Hdf5Id group = {};       // of a copy; else the columns lie in the root
    std::array<Hdf5Id, column_count> datasets = {};
    ChunkTable table = {};
  };

  void create_columns(Chunks& of, hid_t parent);
  void check(const StoredChunk& chunk) const;
  void append(const StoredChunk& chunk);
  void check(const ContainerInfo& final_info) const;
  void fix_extents(const Chunks& of);
  void write_attributes();
  void write_table(hid_t parent, const ChunkTable& table);
  void write_copy(Chunks& copy);

  TensorLayout layout;
  ContainerInfo info;
  std::vector<ReorderedMode> reordered;
  Hdf5Output output;
  const Hdf5Place& place = output.place();
  Hdf5Id all_copies;  // their group
  // The first are in the natural order.
  std::vector<Chunks> chunks;
};

void ContainerWriter::Impl::create_columns(Chunks& of, hid_t parent) {
  of.datasets[0] = create_column(place, parent, Column::index, info.chunk_nnz);
  if (layout.has_high_word()) of.datasets[1] = create_column(place, parent, Column::high_word, info.chunk_nnz);
  of.datasets[2] = create_column(place, parent, Column::value, info.chunk_nnz);
}

void ContainerWriter::Impl::check(const StoredChunk& chunk) const {
  if (!output.is_open()) refuse("no chunk can be added to a finished container");
  const auto order = static_cast<std::size_t>(layout.order());
  if (chunk.lower.size() != order || chunk.upper.size() != order) refuse("a chunk requires bounds for every mode");
  for (std::size_t mode = 0; mode < order; ++mode) {
    if (chunk.lower[mode] > chunk.upper[mode] || chunk.upper[mode] >= info.shape[mode]) {
      refuse("a chunk's bounds lie outside the shape");
    }
  }
  if (chunk.columns[0].bytes.empty()) refuse("a chunk requires an index column");
  if (chunk.columns[1].bytes.empty() == layout.has_high_word())
    refuse("a chunk must have a key column if and only if its lines are longer than 64 bits");
  for (const StoredPayload& column : chunk.columns) {
    if (column.payload_bytes > max_payload_bytes(info.chunk_nnz)) refuse("a payload is larger than its chunk can be");
  }
}

void ContainerWriter::Impl::append(const StoredChunk& chunk) {
  check(chunk);
  auto& [mode, bits, group, datasets, table] = chunks.back();
  const hsize_t first = table.extents.size() * info.chunk_nnz;
  // A chunk must begin inside the extent to be written; the final extent is known only at finish().
  const hsize_t extent = first + 1;
  StoredExtents row{};
  for (std::size_t c = 0; c < column_count; ++c) {
    const StoredPayload& column = chunk.columns[c];
    if (column.bytes.empty()) continue;
    const hid_t dataset = datasets[c].get();
    checked(H5Dset_extent(dataset, &extent), place, "cannot extend the dataset", column_names[c]);
    output.reserve(column.bytes.size());
    // HDF5 does not tell where it puts a chunk, and walks over all chunks to find one. So guess and check the address,
    // and walk only if the guess was wrong.
    const std::uint64_t guess = output.end();
    checked(H5Dwrite_chunk(dataset, H5P_DEFAULT, column.filter_mask, &first, column.bytes.size(), column.bytes.data()),
            place, "cannot write a chunk of", column_names[c]);
    const bool is_there =
        output.has_bytes(guess, std::span(column.bytes).first(std::min(checked_start, column.bytes.size())));
    const std::uint64_t address = is_there ? guess : find_chunk(place, dataset, info, table.extents.size()).address;
    row[c] = {address, column.bytes.size(), column.payload_bytes, column.filter_mask};
  }
  table.extents.push_back(row);
  table.lower.insert(table.lower.end(), chunk.lower.begin(), chunk.lower.end());
  table.upper.insert(table.upper.end(), chunk.upper.begin(), chunk.upper.end());
}

void ContainerWriter::Impl::check(const ContainerInfo& final_info) const {
  if (!output.is_open()) refuse("a container can be finished only once");
  if (final_info.shape != info.shape || final_info.chunk_nnz != info.chunk_nnz) {
    refuse("shape and chunk_nnz of a container are fixed when it is created");
  }
  if (final_info.nnz == 0) refuse("a container requires at least one nonzero");
  for (const Chunks& of : chunks) {
    if (final_info.chunk_count() != of.table.extents.size()) refuse("nnz disagrees with the number of chunks written");
  }
  if (final_info.mode_names.size() != info.shape.size()) refuse("a container requires a name for every mode");
  for (const std::string& name : final_info.mode_names) {
    if (name.size() > max_name_bytes)
      refuse("a mode's name is longer than " + std::to_string(max_name_bytes) + " bytes");
  }
  if (final_info.value_name.size() > max_name_bytes) {
    refuse("the name of the values is longer than " + std::to_string(max_name_bytes) + " bytes");
  }
  if (!(final_info.sum_of_squares >= 0) || !std::isfinite(final_info.sum_of_squares)) {
    refuse("the sum of squares is not finite; values beyond 1e154 cannot be squared");
  }
}

void ContainerWriter::Impl::fix_extents(const Chunks& of) {
  const hsize_t extent = info.nnz;
  for (std::size_t c = 0; c < column_count; ++c) {
    const Hdf5Id& dataset = of.datasets[c];
    if (!dataset.is_open()) continue;
    checked(H5Dset_extent(dataset.get(), &extent), place, "cannot extend the dataset", column_names[c]);
    checked(H5Dflush(dataset.get()), place, "cannot flush the dataset", column_names[c]);
  }
}

void ContainerWriter::Impl::write_copy(Chunks& copy) {
  fix_extents(copy);
  write_table(copy.group.get(), copy.table);
  write_attribute(place, copy.group.get(), "bits", copy.bits);
  const std::uint32_t of_container = metadata_crc(info, chunks.front().table);
  write_attribute(place, copy.group.get(), "crc32c", copy_crc(of_container, copy.mode, copy.bits, copy.table));
}

void ContainerWriter::Impl::write_table(hid_t parent, const ChunkTable& table) {
  const std::uint64_t row_bytes = column_count * sizeof(StoredExtent) + 2 * info.shape.size() * sizeof(std::uint64_t);
  output.reserve(info.chunk_count() * row_bytes);
  const Hdf5Id group = create_group(place, parent, "chunks");
  const Extents by_column = {info.chunk_count(), column_count};
  const Extents by_mode = {info.chunk_count(), info.shape.size()};
  const auto write = [&](const char* name, auto member) {
    using T = std::remove_cvref_t<decltype(StoredExtent{}.*member)>;
    std::vector<T> values;
    for (const StoredExtents& row : table.extents) {
      for (const StoredExtent& extent : row) values.push_back(extent.*member);
    }
    write_dataset<T>(place, group.get(), name, by_column, values);
  };
  write("address", &StoredExtent::address);
  write("stored_bytes", &StoredExtent::stored_bytes);
  write("payload_bytes", &StoredExtent::payload_bytes);
  write("filter_mask", &StoredExtent::filter_mask);
  write_dataset<std::uint64_t>(place, group.get(), "lower", by_mode, table.lower);
  write_dataset<std::uint64_t>(place, group.get(), "upper", by_mode, table.upper);
}

void ContainerWriter::Impl::write_attributes() {
  const hid_t root = output.root();
  write_text(place, root, "format", container_format);
  write_attribute(place, root, "version", container_version);
  write_attribute(place, root, "shape", info.shape);
  write_attribute(place, root, "nnz", info.nnz);
  write_attribute(place, root, "chunk_nnz", info.chunk_nnz);
  write_texts(place, root, "mode_names", info.mode_names);
  if (!info.value_name.empty()) write_text(place, root, "value_name", info.value_name);
  write_reading(place, root, info.reading);
  write_attribute(place, root, "sum_of_squares", info.sum_of_squares);
  write_attribute(place, root, "crc32c", metadata_crc(info, chunks.front().table));
  write_attribute(place, root, "complete", std::uint8_t{1});
}

ContainerWriter::ContainerWriter(const std::filesystem::path& output, const ContainerInfo& info)
    : ContainerWriter(TemporaryFile(output), info) {}

ContainerWriter::ContainerWriter(TemporaryFile output, const ContainerInfo& info) {
  if (info.chunk_nnz == 0 || info.chunk_nnz > max_chunk_nnz) {
    refuse("a chunk holds 1 to " + std::to_string(max_chunk_nnz) + " nonzeros, not " + std::to_string(info.chunk_nnz));
  }
  const QuietHdf5 quiet;
  const std::filesystem::path target = output.target();
  impl_ = std::make_unique<Impl>(target, std::move(output), info);
  impl_->create_columns(impl_->chunks.emplace_back(), impl_->output.root());
}

ContainerWriter::~ContainerWriter() = default;
ContainerWriter::ContainerWriter(ContainerWriter&&) noexcept = default;
ContainerWriter& ContainerWriter::operator=(ContainerWriter&&) noexcept = default;

void ContainerWriter::append(const StoredChunk& chunk) {
  const QuietHdf5 quiet;
  impl_->append(chunk);
}

void ContainerWriter::begin_copy(std::uint64_t mode, const BitModes& bits) {
  const QuietHdf5 quiet;
  Impl& impl = *impl_;
  if (!impl.output.is_open()) refuse("no copy can be added to a finished container");
  if (mode >= impl.info.shape.size() || !TensorLayout(impl.info.shape, bits).is_sorted_by(static_cast<int>(mode)) ||
      bits == impl.layout.bit_modes() || (impl.chunks.size() > 1 && impl.chunks.back().mode >= mode)) {
    refuse("a copy must be sorted by its mode, unlike the natural order, and copies must come in the order of modes");
  }
  impl.output.reserve(0);
  if (!impl.all_copies.is_open()) impl.all_copies = create_group(impl.place, impl.output.root(), copies_group);
  Impl::Chunks& copy = impl.chunks.emplace_back();
  copy.mode = mode;
  copy.bits = bits;
  copy.group = create_group(impl.place, impl.all_copies.get(), std::to_string(mode).c_str());
  impl.create_columns(copy, copy.group.get());
}

std::unique_ptr<ChunkSource> ContainerWriter::natural_chunks(const ContainerInfo& info) const {
  // HDF5 keeps no chunk back. To flush it would move what it writes later, and so change the file's bytes.
  const Impl& impl = *impl_;
  StoredChunks stored{"/", info, impl.chunks.front().table};
  stored.info.reordered = impl.reordered;
  return std::make_unique<ContainerReader>(impl.output.path(), std::move(stored),
                                           impl.place.path.string() + " (being written)");
}

void ContainerWriter::reorder(std::uint64_t mode, std::span<const std::uint32_t> originals) {
  const QuietHdf5 quiet;
  Impl& impl = *impl_;
  const bool fits = mode < impl.info.shape.size() && originals.size() == impl.info.shape[mode];
  if (!fits || (!impl.reordered.empty() && impl.reordered.back().mode >= mode)) {
    refuse("a reordering must have one entry per index of its mode, and modes must be reordered in order");
  }
  impl.output.reserve(originals.size_bytes());
  impl.reordered.push_back({mode, write_reordering(impl.place, impl.output.root(), mode, originals)});
}

std::uint64_t ContainerWriter::finish(const ContainerInfo& info, std::span<const Labels> labels) {
  const QuietHdf5 quiet;
  Impl& impl = *impl_;
  impl.check(info);
  check_labels(info, labels);
  impl.info = info;
  impl.info.reordered = impl.reordered;
  impl.output.reserve(0);
  impl.fix_extents(impl.chunks.front());
  impl.write_table(impl.output.root(), impl.chunks.front().table);
  for (std::size_t copy = 1; copy < impl.chunks.size(); ++copy) impl.write_copy(impl.chunks[copy]);
  impl.output.reserve(memory_bytes(labels));
  write_labels(impl.place, impl.output.root(), labels);
  impl.write_attributes();
  for (Impl::Chunks& of : impl.chunks) {
    for (Hdf5Id& dataset : of.datasets) dataset.reset();
    of.group.reset();
    for (const StoredExtents& row : of.table.extents) {
      for (const StoredExtent& extent : row) impl.output.exclude({extent.address, extent.stored_bytes});
    }
  }
  impl.all_copies.reset();
  return impl.output.publish();
}

}  // namespace blco
