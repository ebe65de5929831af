// Versions, the checksum of a container's metadata, and look-ups in HDF5's chunk index.
#include "io/container/container_table.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "blco/crc32c.hpp"
#include "io/hdf5/hdf5_data.hpp"

namespace blco {
namespace {

static_assert(std::endian::native == std::endian::little, "the canonical bytes are little-endian");

class Checksum {
 public:
  template <class T>
  void add(const T& value) {
    crc_ = crc32c(std::as_bytes(std::span(&value, 1)), crc_);
  }
  template <class T>
  void add_list(std::span<const T> values) {
    crc_ = crc32c(std::as_bytes(values), crc_);
  }
  void add_text(const std::string& text) {
    add(std::uint64_t{text.size()});
    add_list(std::span<const char>(text));
  }
  std::uint32_t value() const { return crc_; }

 private:
  std::uint32_t crc_ = 0;
};

template <class Member>
void add_member(Checksum& checksum, const ChunkTable& table, Member StoredExtent::*member) {
  for (const StoredExtents& row : table.extents) {
    for (const StoredExtent& extent : row) checksum.add(extent.*member);
  }
}

void add_table(Checksum& checksum, const ChunkTable& table) {
  add_member(checksum, table, &StoredExtent::address);
  add_member(checksum, table, &StoredExtent::stored_bytes);
  add_member(checksum, table, &StoredExtent::payload_bytes);
  add_member(checksum, table, &StoredExtent::filter_mask);
  checksum.add_list(std::span<const std::uint64_t>(table.lower));
  checksum.add_list(std::span<const std::uint64_t>(table.upper));
}

// HDF5 counts addresses from the end of the user block, if a tool has added one.
std::uint64_t user_block_bytes(const Hdf5Place& place, hid_t dataset) {
  const Hdf5Id file = own(H5Iget_file_id(dataset), H5Fclose, place, "cannot find the file of a dataset");
  const Hdf5Id creation = own(H5Fget_create_plist(file.get()), H5Pclose, place, "cannot read the user block's size");
  hsize_t bytes = 0;
  checked(H5Pget_userblock(creation.get(), &bytes), place, "cannot read the user block's size");
  return bytes;
}

std::string distinct_from(const std::vector<std::string>& names, std::string name) {
  while (std::ranges::find(names, name) != names.end()) name += '_';
  return name;
}

}  // namespace

std::string default_value_name(const std::vector<std::string>& mode_names) {
  return distinct_from(mode_names, "value");
}

std::string value_column_name(const ContainerInfo& info) {
  return distinct_from(info.mode_names, info.value_name.empty() ? "value" : info.value_name);
}

void check_version(const Hdf5Place& place, hid_t root, const std::string& what, std::uint32_t supported) {
  const std::uint64_t version = read_integer(place, root, "version");
  if (version == supported) return;
  fail_at({place.path, ErrorKind::invalid_argument}, "the " + what + " has version " + std::to_string(version) +
                                                         ", but this build supports version " +
                                                         std::to_string(supported) + " only; use a newer build");
}

std::uint32_t metadata_crc(const ContainerInfo& info, const ChunkTable& table) {
  Checksum checksum;
  checksum.add_list(std::span<const char>(container_format, 4));
  checksum.add(container_version);
  checksum.add(std::uint64_t{info.shape.size()});
  checksum.add_list(std::span<const std::uint64_t>(info.shape));
  checksum.add(info.nnz);
  checksum.add(info.chunk_nnz);
  checksum.add(info.sum_of_squares);
  for (const std::string& name : info.mode_names) checksum.add_text(name);
  checksum.add(std::uint8_t{1});
  add_table(checksum, table);
  for (const ReorderedMode& reordered : info.reordered) {
    checksum.add(reordered.mode);
    checksum.add(reordered.crc32c);
  }
  if (!info.value_name.empty()) checksum.add_text(info.value_name);
  for (const std::string& column : info.reading.columns) checksum.add_text(column);
  if (!info.reading.missing.empty()) checksum.add_text(info.reading.missing);
  if (info.reading.duplicates) checksum.add_text(to_string(*info.reading.duplicates));
  return checksum.value();
}

std::uint32_t copy_crc(std::uint32_t of_container, std::uint64_t mode, const BitModes& bits, const ChunkTable& table) {
  Checksum checksum;
  checksum.add(of_container);
  checksum.add(mode);
  checksum.add_list(std::span<const std::uint8_t>(bits));
  add_table(checksum, table);
  return checksum.value();
}

std::vector<IndexedChunk> read_chunk_index(const Hdf5Place& place, hid_t dataset, const ContainerInfo& info) {
  const std::uint64_t user_block = user_block_bytes(place, dataset);
  const Hdf5Id space = own(H5Dget_space(dataset), H5Sclose, place, "cannot read the chunk index");
  hsize_t count = 0;
  checked(H5Dget_num_chunks(dataset, space.get(), &count), place, "cannot read the chunk index");
  if (count > info.chunk_count()) fail_at(place, "a column has more chunks than nnz and chunk_nnz allow");
  std::vector<IndexedChunk> chunks;
  for (hsize_t i = 0; i < count; ++i) {
    hsize_t first = 0;
    unsigned mask = 0;
    haddr_t address = HADDR_UNDEF;
    hsize_t size = 0;
    checked(H5Dget_chunk_info(dataset, space.get(), i, &first, &mask, &address, &size), place,
            "cannot read the chunk index");
    if (address == HADDR_UNDEF) continue;
    const std::uint64_t chunk = first / info.chunk_nnz;
    if (chunk >= info.chunk_count()) fail_at(place, "a column has a chunk beyond its end");
    chunks.push_back({chunk, {address + user_block, size, 0, mask}});
  }
  return chunks;
}

StoredExtent find_chunk(const Hdf5Place& place, hid_t dataset, const ContainerInfo& info, std::uint64_t chunk) {
  const hsize_t first = chunk * info.chunk_nnz;
  unsigned mask = 0;
  haddr_t address = HADDR_UNDEF;
  hsize_t size = 0;
  checked(H5Dget_chunk_info_by_coord(dataset, &first, &mask, &address, &size), place, "cannot read the chunk index");
  if (address == HADDR_UNDEF) return {};
  return {address + user_block_bytes(place, dataset), size, 0, mask};
}

}  // namespace blco
