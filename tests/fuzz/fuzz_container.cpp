// Fuzzes the reader of containers: attributes and chunk table, also under a right checksum, payloads, the trailer.
#include <fcntl.h>

#include <vector>

#include "blco/crc32c.hpp"
#include "io/container/container_metadata.hpp"
#include "io/hdf5/hdf5_data.hpp"
#include "io/hdf5/hdf5_trailer.hpp"
#include "tests/fuzz/hdf5_script.hpp"
#include "tests/io/container/stored_tensor.hpp"

namespace {

using namespace blco;

constexpr std::uint64_t max_chunk_bytes = std::uint64_t{32} << 20;

const fuzz::ScriptNames names{
    {"format", "version", "shape", "nnz", "chunk_nnz", "mode_names", "sum_of_squares", "complete", "crc32c"},
    {"index", "key", "value", "chunks/address", "chunks/stored_bytes", "chunks/payload_bytes", "chunks/filter_mask",
     "chunks/lower", "chunks/upper", "modes/0/labels", "orders", "orders/0/index", "orders/2/value",
     "orders/0/chunks/address", "orders/2/chunks/lower"}};

struct Whole {
  std::string bytes;
  ContainerMetadata metadata;
};

// With copies in the orders of two modes.
Whole make_container(bool has_high_word) {
  const TemporaryFolder folder;
  const auto path = folder / "t.blco";
  const std::vector<std::uint64_t> narrow = {60, 50, 40};
  const std::vector<std::uint64_t> wide = {1ULL << 33, 1ULL << 32, 50};
  // The second has values that are not compressed, so that edits reach the payloads.
  write_tensor(
      tests::random_tensor({has_high_word ? wide : narrow, 500, 200,
                            has_high_word ? tests::Values::doubles : tests::Values::counts, has_high_word ? 0 : 3}),
      path, {0, 2});
  const FileDescriptor file(::open(path.c_str(), O_RDONLY));
  const std::string bytes = file_contents(path);
  return {fuzz::without_trailer(bytes), read_container_metadata(path, file.get(), bytes.size())};
}

std::uint64_t choose_number(std::uint64_t old, fuzz::FuzzInput& input) {
  switch (input.choose(4)) {
    case 0:
      return input.take<std::uint64_t>();
    case 1:
      return old + input.take<std::uint8_t>();
    case 2:
      return old - input.take<std::uint8_t>();
    default:
      return input.take<std::uint8_t>();
  }
}

// The natural chunks, or those of a copy.
StoredChunks& choose_chunks(ContainerMetadata& metadata, fuzz::FuzzInput& input) {
  const std::uint64_t choice = input.choose(1 + metadata.copies.size());
  return choice == 0 ? metadata.natural : std::next(metadata.copies.begin(), static_cast<long>(choice - 1))->second;
}

void change(ContainerMetadata& metadata, fuzz::FuzzInput& input) {
  auto& [group, of_chunks, table] = choose_chunks(metadata, input);
  ContainerInfo& info = metadata.natural.info;
  const auto renew = [&](auto& number) {
    number = static_cast<std::decay_t<decltype(number)>>(choose_number(static_cast<std::uint64_t>(number), input));
  };
  const auto renew_one = [&](std::vector<std::uint64_t>& numbers) { renew(numbers[input.choose(numbers.size())]); };
  StoredExtent& extent = table.extents[input.choose(table.extents.size())][input.choose(column_count)];
  switch (input.choose(10)) {
    case 9:
      if (!of_chunks.bit_modes.empty()) renew(of_chunks.bit_modes[input.choose(of_chunks.bit_modes.size())]);
      return;
    case 0:
      return renew_one(info.shape);
    case 1:
      return renew(info.nnz);
    case 2:
      return renew(info.chunk_nnz);
    case 3:
      return renew(extent.address);
    case 4:
      return renew(extent.stored_bytes);
    case 5:
      return renew(extent.payload_bytes);
    case 6:
      return renew(extent.filter_mask);
    case 7:
      return renew_one(table.lower);
    default:
      return renew_one(table.upper);
  }
}

void write_table_again(const Hdf5Place& place, hid_t parent, const ChunkTable& table) {
  const auto write = [&](const char* name, hid_t type, const void* numbers) {
    const Hdf5Id dataset = own(H5Dopen2(parent, name, H5P_DEFAULT), H5Dclose, place, "open");
    checked(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers), place, "write");
  };
  std::vector<std::uint64_t> address, stored_bytes, payload_bytes, filter_mask;
  for (const StoredExtents& row : table.extents) {
    for (const StoredExtent& extent : row) {
      address.push_back(extent.address);
      stored_bytes.push_back(extent.stored_bytes);
      payload_bytes.push_back(extent.payload_bytes);
      filter_mask.push_back(extent.filter_mask);
    }
  }
  write("chunks/address", H5T_NATIVE_UINT64, address.data());
  write("chunks/stored_bytes", H5T_NATIVE_UINT64, stored_bytes.data());
  write("chunks/payload_bytes", H5T_NATIVE_UINT64, payload_bytes.data());
  write("chunks/filter_mask", H5T_NATIVE_UINT64, filter_mask.data());
  write("chunks/lower", H5T_NATIVE_UINT64, table.lower.data());
  write("chunks/upper", H5T_NATIVE_UINT64, table.upper.data());
}

// Writes attributes and tables as the metadata say, with their checksums.
void write_metadata(const std::filesystem::path& path, const ContainerMetadata& metadata) {
  const QuietHdf5 quiet;
  const Hdf5Place place{path, ErrorKind::io};
  const Hdf5Id file = own(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose, place, "open");
  const auto write_again = [&](hid_t object, const char* name, const auto& value) {
    checked(H5Adelete(object, name), place, "delete");
    write_attribute(place, object, name, value);
  };
  const auto& [root, info, table] = metadata.natural;
  const std::uint32_t crc = metadata_crc(info, table);
  write_again(file.get(), "shape", info.shape);
  write_again(file.get(), "nnz", info.nnz);
  write_again(file.get(), "chunk_nnz", info.chunk_nnz);
  write_again(file.get(), "crc32c", crc);
  write_table_again(place, file.get(), table);
  for (const auto& [mode, copy] : metadata.copies) {
    const Hdf5Id group = own(H5Gopen2(file.get(), copy.group.c_str(), H5P_DEFAULT), H5Gclose, place, "open");
    write_again(group.get(), "bits", copy.info.bit_modes);
    write_again(group.get(), "crc32c", copy_crc(crc, mode, copy.info.bit_modes, copy.table));
    write_table_again(place, group.get(), copy.table);
  }
}

// Overwrites bytes of a column's chunk; HDF5 does not look into them.
void edit_payload(fuzz::MemoryFile& file, ContainerMetadata metadata, fuzz::FuzzInput& input) {
  const auto& extents = choose_chunks(metadata, input).table.extents;
  const StoredExtent& extent = extents[input.choose(extents.size())][input.choose(column_count)];
  if (extent.stored_bytes == 0) return;
  const std::uint64_t at = input.take<std::uint16_t>() % extent.stored_bytes;
  const std::string_view bytes = input.take_bytes(1 + input.choose(32));
  file.overwrite(extent.address + at, bytes.substr(0, extent.stored_bytes - at));
}

void read_chunks(const ChunkSource& source) {
  for (std::uint64_t chunk = 0; chunk < std::min<std::uint64_t>(source.info().chunk_count(), 16); ++chunk) {
    if (source.buffer_bytes(chunk) + source.scratch_bytes(chunk) > max_chunk_bytes) continue;
    fuzz::refusal_of([&] {
      tests::Columns columns;
      tests::read_chunk_into(source, chunk, columns);
      fuzz::require(columns.low.size() == columns.value.size());
    });
  }
}

void read_all(const std::filesystem::path& path) {
  const ContainerReader reader(path);
  read_chunks(reader);
  for (std::uint64_t mode = 0; mode < reader.info().shape.size(); ++mode) {
    if (const ChunkSource* const copy = reader.ordered_copy(mode); copy != nullptr) read_chunks(*copy);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Whole narrow = make_container(false);
  static const Whole wide = make_container(true);
  fuzz::FuzzInput input(data, size);
  const Whole& whole = input.flag() ? wide : narrow;
  fuzz::MemoryFile file(whole.bytes);
  const std::size_t changes = input.choose(6);
  ContainerMetadata metadata = whole.metadata;
  for (std::size_t i = 0; i < changes; ++i) change(metadata, input);
  if (changes > 0) write_metadata(file.path(), metadata);
  for (std::size_t edits = input.choose(4); edits > 0; --edits) edit_payload(file, whole.metadata, input);
  fuzz::edit_hdf5(file.path(), names, input);
  const std::size_t trailer = input.choose(3);
  if (trailer == 1) append_trailer(file.descriptor(), file.path(), file.bytes(), {});
  if (trailer == 2) file.append(input.rest());
  fuzz::refusal_of([&] { read_all(file.path()); });
  return 0;
}
