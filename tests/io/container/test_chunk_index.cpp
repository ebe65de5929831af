// What lies where the chunk index says is what HDF5 reads.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "io/container/container_table.hpp"
#include "io/file/file_descriptor.hpp"
#include "io/hdf5/frame_filter.hpp"
#include "io/hdf5/hdf5_data.hpp"
#include "tests/io/container/stored_tensor.hpp"
#include "tests/io/expect_error.hpp"

namespace blco::tests {
namespace {

class ChunkIndex : public testing::Test {
 protected:
  ChunkIndex() {
    // Chunks of ones, which are not in the file, between others.
    for (std::size_t i = 300; i < 900; ++i) tensor_.columns.value[i] = 1;
    write_tensor(tensor_, path_);
    EXPECT_TRUE(register_filters());
  }

  void expect_chunks_there(const Hdf5Place& place, const std::string& column, std::size_t count) const {
    const Hdf5Id file = open_hdf5_file(place);
    const Hdf5Id dataset = open_dataset(place, file.get(), column.c_str());
    const std::vector<IndexedChunk> listed = read_chunk_index(place, dataset.get(), tensor_.info);
    const FileDescriptor bytes(::open(place.path.c_str(), O_RDONLY));

    ASSERT_EQ(listed.size(), count);
    for (const auto& [chunk, extent] : listed) {
      std::vector<std::byte> there(extent.stored_bytes);
      read_at(bytes.get(), extent.address, there);
      std::vector<std::byte> read(extent.stored_bytes);
      const hsize_t first = chunk * tensor_.info.chunk_nnz;
      std::uint32_t mask = 0;
      checked(H5Dread_chunk(dataset.get(), H5P_DEFAULT, &first, &mask, read.data()), place, "read");
      EXPECT_EQ(there, read);
      EXPECT_EQ(mask, extent.filter_mask);
    }
  }

  // A column of lines in a file of its own, in the form of HDF5 that `creation` and `access` lead to.
  Hdf5Place write_column(hid_t file_creation, hid_t access, hsize_t max_entries) const {
    const Hdf5Place place = {folder_ / "column.h5", ErrorKind::corrupt};
    const Hdf5Id file =
        own(H5Fcreate(place.path.c_str(), H5F_ACC_TRUNC, file_creation, access), H5Fclose, place, "create");
    const Hdf5Id creation = make_properties(place, H5P_DATASET_CREATE);
    const hsize_t chunk = tensor_.info.chunk_nnz;
    const hsize_t extent = tensor_.info.nnz;
    checked(H5Pset_chunk(creation.get(), 1, &chunk), place, "chunk");
    checked(H5Pset_filter(creation.get(), frame_filter_id, H5Z_FLAG_MANDATORY, 0, nullptr), place, "filter");
    const Hdf5Id space = own(H5Screate_simple(1, &extent, &max_entries), H5Sclose, place, "space");
    const Hdf5Id made =
        own(H5Dcreate2(file.get(), "index", H5T_STD_U64LE, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
            H5Dclose, place, "create");
    checked(H5Dwrite(made.get(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor_.columns.low.data()), place,
            "write");
    return place;
  }

  QuietHdf5 quiet_;
  TemporaryFolder folder_;
  StoredTensor tensor_ = random_tensor({{1ULL << 33, 1ULL << 32, 50}, 2000, 300, Values::counts});
  fs::path path_ = folder_ / "t.blco";
};

TEST_F(ChunkIndex, IsThatOfAContainer) {
  const Hdf5Place place = {path_, ErrorKind::corrupt};
  expect_chunks_there(place, "index", 7);
  expect_chunks_there(place, "key", 7);
  expect_chunks_there(place, "value", 5);
}

TEST_F(ChunkIndex, IsReadInEveryFormAndBehindAUserBlock) {
  const Hdf5Place place = {path_, ErrorKind::corrupt};
  for (const H5F_libver_t version : {H5F_LIBVER_EARLIEST, H5F_LIBVER_V110}) {
    for (const hsize_t max_entries : {hsize_t{2000}, H5S_UNLIMITED}) {
      for (const hsize_t user_block : {hsize_t{0}, hsize_t{1024}}) {
        const Hdf5Id creation = make_properties(place, H5P_FILE_CREATE);
        checked(H5Pset_userblock(creation.get(), user_block), place, "user block");
        const Hdf5Id access = make_properties(place, H5P_FILE_ACCESS);
        checked(H5Pset_libver_bounds(access.get(), version, H5F_LIBVER_LATEST), place, "version");

        expect_chunks_there(write_column(creation.get(), access.get(), max_entries), "index", 7);
      }
    }
  }
}

// HDF5 puts blocks of its own between the chunks, so that some are not where the writer expects them.
TEST_F(ChunkIndex, AgreesWithTheTableOfAContainerOfManyChunks) {
  tensor_ = random_tensor({{1ULL << 33, 1ULL << 32, 50}, 6000, 2, Values::tenths});
  write_tensor(tensor_, path_);
  const ContainerReader reader(path_);
  const Hdf5Place place = {path_, ErrorKind::corrupt};
  const Hdf5Id file = open_hdf5_file(place);

  for (std::size_t c = 0; c < column_count; ++c) {
    const Hdf5Id dataset = open_dataset(place, file.get(), column_names[c]);
    const std::vector<IndexedChunk> found = read_chunk_index(place, dataset.get(), tensor_.info);
    ASSERT_EQ(found.size(), 3000u);
    for (const IndexedChunk& one : found) EXPECT_EQ(one.extent.address, reader.extents(one.chunk)[c].address);
  }
  EXPECT_EQ(read_columns(reader), tensor_.columns);
}

TEST_F(ChunkIndex, IsRefusedWhereItHasMoreChunks) {
  ContainerInfo shorter = tensor_.info;
  shorter.nnz = 600;
  const Hdf5Place place = {path_, ErrorKind::corrupt};
  const Hdf5Id file = open_hdf5_file(place);
  const Hdf5Id dataset = open_dataset(place, file.get(), "index");

  expect_error(ErrorKind::corrupt, "more chunks", [&] { read_chunk_index(place, dataset.get(), shorter); });
}

}  // namespace
}  // namespace blco::tests
