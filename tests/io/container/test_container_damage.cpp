// Containers that are damaged, foreign, or moved by other tools.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

#include <cstdint>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "io/container/container_metadata.hpp"
#include "io/container/container_reader.hpp"
#include "io/container/model_file.hpp"
#include "io/file/file_descriptor.hpp"
#include "io/hdf5/frame_filter.hpp"
#include "io/hdf5/hdf5_data.hpp"
#include "tests/io/container/stored_tensor.hpp"
#include "tests/io/expect_error.hpp"

namespace blco::tests {
namespace {

// Seven chunks: those at 1, 2, 4 and 5 are not looked at when the file is opened.
const TensorSpec seven_chunks = {{1ULL << 33, 1ULL << 32, 50}, 2000, 300, Values::doubles};
constexpr std::uint64_t unprobed_chunk = 1;

class DamagedContainer : public testing::Test {
 protected:
  DamagedContainer() { write_tensor(tensor_, path_); }

  Hdf5Id open_for_writing() const {
    return own(H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose, place_, "open");
  }

  template <class T>
  void overwrite_attribute(const char* name, T value) const {
    const Hdf5Id file = open_for_writing();
    H5Adelete(file.get(), name);
    write_attribute(place_, file.get(), name, value);
  }

  ContainerMetadata metadata() const {
    const FileDescriptor file(::open(path_.c_str(), O_RDONLY));
    return read_container_metadata(path_, file.get(), fs::file_size(path_));
  }

  // Writes another /chunks/address, with or without the checksum that goes with it.
  void overwrite_addresses(const std::function<void(ChunkTable&)>& change, bool with_checksum) const {
    ContainerMetadata changed = metadata();
    change(changed.natural.table);
    std::vector<std::uint64_t> addresses;
    for (const StoredExtents& row : changed.natural.table.extents) {
      for (const StoredExtent& extent : row) addresses.push_back(extent.address);
    }
    {
      const Hdf5Id file = open_for_writing();
      const Hdf5Id dataset = own(H5Dopen2(file.get(), "chunks/address", H5P_DEFAULT), H5Dclose, place_, "open");
      checked(H5Dwrite(dataset.get(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, addresses.data()), place_,
              "write");
    }
    if (with_checksum) overwrite_attribute("crc32c", metadata_crc(changed.natural.info, changed.natural.table));
  }

  void flip(std::uint64_t offset, char bits = 1) const {
    std::string bytes = file_contents(path_);
    bytes[offset] = static_cast<char>(bytes[offset] ^ bits);
    write_file(path_, bytes);
  }

  TemporaryFolder folder_;
  fs::path path_ = folder_ / "t.blco";
  Hdf5Place place_{path_, ErrorKind::corrupt};
  StoredTensor tensor_ = random_tensor(seven_chunks);
};

TEST_F(DamagedContainer, NamesFileChunkAndColumnOfAFlippedBit) {
  const char* const names[] = {"index", "key", "value"};
  const std::string whole = file_contents(path_);
  for (std::size_t column = 0; column < column_count; ++column) {
    for (const std::uint64_t chunk : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{6}}) {
      write_file(path_, whole);
      const StoredExtent extent = ContainerReader(path_).extents(chunk)[column];
      flip(extent.address + extent.stored_bytes / 2);

      const ContainerReader reader(path_);

      Columns columns;
      expect_error(ErrorKind::corrupt,
                   path_.string() + ": chunk " + std::to_string(chunk) + ", column " + names[column] + ": ",
                   [&] { read_chunk_into(reader, chunk, columns); });
      read_chunk_into(reader, 2, columns);
    }
  }
}

// HDF5 1.10 leaks an object header that it cannot decode, in memory that it may have taken long before.
struct IgnoreLeaks {
#if defined(__SANITIZE_ADDRESS__)
  __lsan::ScopedDisabler disabler;
#endif
};

class FlippedByte : private IgnoreLeaks, public DamagedContainer {};

TEST_F(FlippedByte, NeverGivesWrongColumnsOrCrashes) {
  tensor_ = random_tensor({{40, 1ULL << 62, 60}, 40, 16, Values::doubles});
  write_tensor(tensor_, path_, {2});
  const Columns in_order_of_mode_2 = in_order(tensor_, bit_modes_of(tensor_.spec.shape, 2)).columns;
  const std::string whole = file_contents(path_);

  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); at += 5) {
    const auto flipped = static_cast<char>(whole[at] ^ (1 << (at % 8)));
    std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary)
        .seekp(static_cast<std::streamoff>(at))
        .put(flipped);
    try {
      const ContainerReader reader(path_);
      EXPECT_EQ(read_columns(reader), tensor_.columns) << "byte " << at;
      if (reader.ordered_copy(2) != nullptr) {
        EXPECT_EQ(read_columns(*reader.ordered_copy(2)), in_order_of_mode_2) << "byte " << at;
      }
      EXPECT_EQ(reader.info().sum_of_squares, tensor_.info.sum_of_squares) << "byte " << at;
    } catch (const Error&) {
      ++refused;
    }
    std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary)
        .seekp(static_cast<std::streamoff>(at))
        .put(whole[at]);
  }

  EXPECT_GT(refused, 0);
}

TEST_F(DamagedContainer, RefusesATruncatedFileAtEveryLength) {
  const std::string whole = file_contents(path_);

  for (const std::size_t length : {std::size_t{100}, whole.size() / 3, 2 * whole.size() / 3}) {
    write_file(path_, whole.substr(0, length));
    expect_error(ErrorKind::corrupt, "truncated", [&] { ContainerReader{path_}; });
  }
  write_file(path_, whole.substr(0, whole.size() - 1));
  expect_error(ErrorKind::corrupt, "it was truncated", [&] { ContainerReader{path_}; });
}

TEST_F(DamagedContainer, RefusesAFileThatShrinksAfterItWasOpened) {
  const ContainerReader reader(path_);
  fs::resize_file(path_, reader.extents(6)[2].address + 1);
  Columns columns;

  expect_error(ErrorKind::corrupt, "chunk 6, column value: the file ends",
               [&] { read_chunk_into(reader, 6, columns); });
}

TEST_F(DamagedContainer, RefusesWhatIsNotHdf5) {
  write_file(path_, "1 1 1 1.0\n");
  expect_error(ErrorKind::invalid_argument, "not an HDF5 file", [&] { ContainerReader{path_}; });

  write_file(path_, "");
  expect_error(ErrorKind::invalid_argument, "empty", [&] { ContainerReader{path_}; });

  expect_error(ErrorKind::io, "absent", [&] { ContainerReader{folder_ / "absent"}; });
  expect_error(ErrorKind::io, "not a regular file", [&] { ContainerReader{folder_.path()}; });
}

TEST_F(DamagedContainer, TellsAModelFromATensor) {
  ModelFile model;
  model.shape = {2};
  model.rank = 1;
  model.weights = {1};
  model.factors = {{1, 2}};
  write_model_file(path_, model);

  expect_error(ErrorKind::invalid_argument, "is a model, not a tensor", [&] { ContainerReader{path_}; });
}

TEST_F(DamagedContainer, RefusesHdf5ThatIsNoContainerOrOfAnotherVersion) {
  overwrite_attribute("version", std::uint32_t{2});
  expect_error(ErrorKind::invalid_argument, "version 2", [&] { ContainerReader{path_}; });

  {
    const Hdf5Id file = open_for_writing();
    H5Adelete(file.get(), "format");
    write_text(place_, file.get(), "format", "netcdf");
  }
  expect_error(ErrorKind::invalid_argument, "netcdf", [&] { ContainerReader{path_}; });

  H5Adelete(open_for_writing().get(), "format");
  expect_error(ErrorKind::invalid_argument, "not a BLCO container", [&] { ContainerReader{path_}; });
}

TEST_F(DamagedContainer, RefusesAContainerThatIsNotComplete) {
  overwrite_attribute("complete", std::uint8_t{0});

  expect_error(ErrorKind::corrupt, "incomplete", [&] { ContainerReader{path_}; });
}

TEST_F(DamagedContainer, RefusesMetadataThatDisagreeWithTheirChecksum) {
  overwrite_attribute("sum_of_squares", 1.0);

  expect_error(ErrorKind::corrupt, "checksum of attributes", [&] { ContainerReader{path_}; });
}

TEST_F(DamagedContainer, RefusesCountsBeforeItAllocatesForThem) {
  overwrite_attribute("nnz", std::uint64_t{1} << 60);
  expect_error(ErrorKind::corrupt, "nnz", [&] { ContainerReader{path_}; });

  overwrite_attribute("nnz", std::uint64_t{2400});
  expect_error(ErrorKind::corrupt, "extents [7, 3]", [&] { ContainerReader{path_}; });

  overwrite_attribute("chunk_nnz", std::uint64_t{0});
  expect_error(ErrorKind::corrupt, "chunk_nnz", [&] { ContainerReader{path_}; });

  overwrite_attribute("shape", std::vector<std::uint64_t>(17, 2));
  expect_error(ErrorKind::corrupt, "shape", [&] { ContainerReader{path_}; });
}

TEST_F(DamagedContainer, FindsChunksWhoseAddressIsWrongWhenItOpens) {
  overwrite_addresses([](ChunkTable& table) { table.extents[0][0].address += 8; }, true);

  const ContainerReader reader(path_);

  EXPECT_EQ(read_columns(reader), tensor_.columns);
}

TEST_F(DamagedContainer, FindsChunksWhoseAddressIsBeyondTheFileWhenItOpens) {
  overwrite_addresses([](ChunkTable& table) { table.extents[unprobed_chunk][2].address = ~std::uint64_t{0}; }, true);

  const ContainerReader reader(path_);

  EXPECT_EQ(read_columns(reader), tensor_.columns);
}

TEST_F(DamagedContainer, FindsChunksWhoseAddressIsWrongWhenItReads) {
  overwrite_addresses(
      [](ChunkTable& table) {
        for (StoredExtent& extent : table.extents[unprobed_chunk]) extent.address += 8;
      },
      true);
  const ContainerReader reader(path_);
  std::vector<Columns> results(3);

  {
    std::vector<std::jthread> threads;
    for (Columns& result : results) threads.emplace_back([&] { result = read_columns(reader); });
  }

  EXPECT_THAT(results, testing::Each(tensor_.columns));
}

// What h5repack does without and with a change of filters: chunks copied as they are, or decoded and encoded again.
class MovedContainer : public DamagedContainer {
 protected:
  void copy_root(hid_t from, hid_t to) const {
    checked(H5Ocopy(from, "chunks", to, "chunks", H5P_DEFAULT, H5P_DEFAULT), place_, "copy");
    for (const char* name :
         {"format", "version", "shape", "nnz", "chunk_nnz", "mode_names", "sum_of_squares", "crc32c", "complete"}) {
      const Hdf5Id old = own(H5Aopen(from, name, H5P_DEFAULT), H5Aclose, place_, "open");
      const Hdf5Id type = own(H5Aget_type(old.get()), H5Tclose, place_, "type");
      const Hdf5Id space = own(H5Aget_space(old.get()), H5Sclose, place_, "space");
      std::vector<std::byte> bytes(H5Tget_size(type.get()) *
                                   static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get())));
      checked(H5Aread(old.get(), type.get(), bytes.data()), place_, "read");
      write_attribute_as(to, name, type.get(), space.get(), bytes.data());
      if (H5Tis_variable_str(type.get()) > 0) {
        H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, bytes.data());
      }
    }
  }

  void write_attribute_as(hid_t to, const char* name, hid_t type, hid_t space, const void* bytes) const {
    const Hdf5Id made = own(H5Acreate2(to, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose, place_, "create");
    checked(H5Awrite(made.get(), type, bytes), place_, "write");
  }

  void encode_again(hid_t from, hid_t to, const char* name) const {
    const Hdf5Id old = own(H5Dopen2(from, name, H5P_DEFAULT), H5Dclose, place_, "open");
    const Hdf5Id type = own(H5Dget_type(old.get()), H5Tclose, place_, "type");
    const Hdf5Id space = own(H5Dget_space(old.get()), H5Sclose, place_, "space");
    const Hdf5Id creation = own(H5Dget_create_plist(old.get()), H5Pclose, place_, "list");
    std::vector<std::uint64_t> raw(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get())));
    checked(H5Dread(old.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, raw.data()), place_, "read");
    const Hdf5Id made = own(H5Dcreate2(to, name, type.get(), space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                            H5Dclose, place_, "create");
    checked(H5Dwrite(made.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, raw.data()), place_, "write");
  }

  fs::path repacked(bool encode, hsize_t user_block) const {
    const fs::path moved = folder_ / "moved.blco";
    EXPECT_TRUE(register_filters());
    const Hdf5Id from = open_hdf5_file(place_);
    const Hdf5Id creation = make_properties(place_, H5P_FILE_CREATE);
    checked(H5Pset_userblock(creation.get(), user_block), place_, "user block");
    const Hdf5Id to =
        own(H5Fcreate(moved.c_str(), H5F_ACC_TRUNC, creation.get(), H5P_DEFAULT), H5Fclose, place_, "create");
    for (const char* name : {"value", "key", "index"}) {
      if (H5Lexists(from.get(), name, H5P_DEFAULT) <= 0) continue;
      if (encode) {
        encode_again(from.get(), to.get(), name);
      } else {
        checked(H5Ocopy(from.get(), name, to.get(), name, H5P_DEFAULT, H5P_DEFAULT), place_, "copy");
      }
    }
    copy_root(from.get(), to.get());
    return moved;
  }
};

TEST_F(MovedContainer, IsReadAfterItsChunksWereCopied) {
  for (const hsize_t user_block : {hsize_t{0}, hsize_t{512}}) {
    const fs::path moved = repacked(/*encode=*/false, user_block);

    EXPECT_EQ(read_columns(ContainerReader(moved)), tensor_.columns);
    const ContainerReader reader(moved);
    EXPECT_EQ(read_columns(reader, Reading::pieces), tensor_.columns) << "from the wrong places first";
    EXPECT_EQ(read_columns(reader, Reading::pieces), tensor_.columns) << "from the right ones";
  }
}

TEST_F(MovedContainer, IsReadWithItsCopiesAfterTheChunksOfThoseWereCopied) {
  write_tensor(tensor_, path_, {0});
  const BitModes bits = bit_modes_of(tensor_.spec.shape, 0);
  const fs::path moved = repacked(/*encode=*/false, 0);
  {
    const Hdf5Id from = own(H5Fopen(path_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, place_, "open");
    const Hdf5Id to = own(H5Fopen(moved.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose, place_, "open");
    checked(H5Ocopy(from.get(), "orders", to.get(), "orders", H5P_DEFAULT, H5P_DEFAULT), place_, "copy");
  }

  const ContainerReader reader(moved);

  EXPECT_EQ(read_columns(reader), tensor_.columns);
  ASSERT_NE(reader.ordered_copy(0), nullptr);
  EXPECT_EQ(read_columns(*reader.ordered_copy(0)), in_order(tensor_, bits).columns);
  EXPECT_EQ(read_columns(*reader.ordered_copy(0), Reading::pieces), in_order(tensor_, bits).columns);
}

TEST_F(DamagedContainer, RefusesACopyThatIsNotInTheOrderOfItsMode) {
  write_tensor(tensor_, path_, {0});
  const auto bend = [&](const BitModes& bits) {
    const ContainerMetadata whole = metadata();
    const Hdf5Id file = open_for_writing();
    const Hdf5Id group = own(H5Gopen2(file.get(), "orders/0", H5P_DEFAULT), H5Gclose, place_, "open");
    const std::uint32_t crc = metadata_crc(whole.natural.info, whole.natural.table);
    for (const char* name : {"bits", "crc32c"}) checked(H5Adelete(group.get(), name), place_, "delete");
    write_attribute(place_, group.get(), "bits", bits);
    write_attribute(place_, group.get(), "crc32c", copy_crc(crc, 0, bits, whole.copies.at(0).table));
  };
  const std::vector<std::uint64_t>& shape = tensor_.spec.shape;
  BitModes short_of_one = bit_modes_of(shape, 0);
  short_of_one.pop_back();
  for (const BitModes& bits : {bit_modes_of(shape, 1), short_of_one, BitModes(16, 9), natural_bit_modes(shape)}) {
    bend(bits);
    expect_error(ErrorKind::corrupt, "in the copy in the order of mode 0", [&] { ContainerReader{path_}; });
    write_tensor(tensor_, path_, {0});
  }
  bend(bit_modes_of(shape, 0));
  EXPECT_NO_THROW(ContainerReader{path_});
}

TEST_F(MovedContainer, IsReadAfterItsChunksWereEncodedAgain) {
  for (const Values values : {Values::ones, Values::counts, Values::floats, Values::doubles}) {
    for (const std::uint64_t nnz : {std::uint64_t{2000}, std::uint64_t{2100}}) {
      TensorSpec spec = seven_chunks;
      spec.values = values;
      spec.nnz = nnz;
      tensor_ = random_tensor(spec);
      write_tensor(tensor_, path_);

      const ContainerReader reader(repacked(/*encode=*/true, 0));

      EXPECT_EQ(read_columns(reader), tensor_.columns);
    }
  }
}

TEST_F(MovedContainer, IsRefusedWithoutTheFiltersOfTheFormat) {
  const fs::path moved = repacked(/*encode=*/false, 0);
  {
    const Hdf5Id file = own(H5Fopen(moved.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose, place_, "open");
    checked(H5Ldelete(file.get(), "index", H5P_DEFAULT), place_, "delete");
    const Hdf5Id creation = make_properties(place_, H5P_DATASET_CREATE);
    const hsize_t extent = tensor_.info.nnz;
    const hsize_t chunk = tensor_.info.chunk_nnz;
    checked(H5Pset_chunk(creation.get(), 1, &chunk), place_, "chunk");
    const Hdf5Id space = own(H5Screate_simple(1, &extent, nullptr), H5Sclose, place_, "space");
    const Hdf5Id made =
        own(H5Dcreate2(file.get(), "index", H5T_STD_U64LE, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
            H5Dclose, place_, "create");
  }

  expect_error(ErrorKind::corrupt, "filters of the format", [&] { ContainerReader{moved}; });
}

}  // namespace
}  // namespace blco::tests
