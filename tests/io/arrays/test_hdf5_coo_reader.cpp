// Coordinate lists in HDF5 whose chunks are longer than a batch.
#include <gtest/gtest.h>
#include <hdf5.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "blco/executor.hpp"
#include "io/arrays/coo_reader.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/temporary_folder.hpp"

namespace blco::tests {
namespace {

// A filter that changes nothing and counts the chunks that are read.
constexpr H5Z_filter_t counting_filter = 300;
int chunks_read = 0;

std::size_t count_chunk(unsigned flags, std::size_t, const unsigned*, std::size_t bytes, std::size_t*, void**) {
  if ((flags & H5Z_FLAG_REVERSE) != 0) ++chunks_read;
  return bytes;
}

void write_dataset(hid_t file, const char* name, const std::vector<double>& numbers,
                   const std::vector<hsize_t>& extents, const std::vector<hsize_t>& chunk) {
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
  H5Pset_filter(creation, counting_filter, H5Z_FLAG_MANDATORY, 0, nullptr);
  const hid_t space = H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
  const hid_t type = extents.size() == 2 ? H5T_STD_I64LE : H5T_IEEE_F64LE;
  const hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  EXPECT_GE(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()), 0);
  H5Dclose(dataset);
  H5Sclose(space);
  H5Pclose(creation);
}

TEST(Hdf5CooReader, ReadsAChunkOnceHoweverManyBatchesItHas) {
  const H5Z_class2_t filter = {H5Z_CLASS_T_VERS, counting_filter, 1, 1, "count", nullptr, nullptr, &count_chunk};
  ASSERT_GE(H5Zregister(&filter), 0);
  constexpr std::size_t entries = 200'000;
  constexpr std::size_t modes = 2;
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "list.h5";
  std::vector<double> numbers(modes * entries);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i % 977);
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  write_dataset(file, "coords", numbers, {modes, entries}, {modes, entries / 2});
  write_dataset(file, "values", std::vector<double>(entries, 0.5), {entries}, {entries});
  H5Fclose(file);
  chunks_read = 0;

  SerialExecutor executor;
  std::vector<std::unique_ptr<CooSource>> sources;
  sources.push_back(open_hdf5_coo(path));
  const auto reader = make_coo_reader(std::move(sources), 1, executor);
  CoordinateBatch batch;
  std::size_t batches = 0;
  std::size_t seen = 0;
  while (reader->next(batch)) {
    ++batches;
    for (std::size_t i = 0; i < batch.count(); ++i, ++seen) {
      ASSERT_EQ(batch.coordinate(i, 0), seen % 977);
      ASSERT_EQ(batch.coordinate(i, 1), (entries + seen) % 977);
    }
  }

  EXPECT_EQ(seen, entries);
  EXPECT_GT(batches, 10U);
  EXPECT_EQ(chunks_read, 3);
}

TEST(Hdf5CooReader, NamesAFilterThatIsNotHere) {
  const H5Z_class2_t filter = {H5Z_CLASS_T_VERS, counting_filter, 1, 1, "count", nullptr, nullptr, &count_chunk};
  ASSERT_GE(H5Zregister(&filter), 0);
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "list.h5";
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  write_dataset(file, "coords", {1, 2, 3, 4}, {2, 2}, {2, 2});
  write_dataset(file, "values", {1, 2}, {2}, {2});
  H5Fclose(file);
  ASSERT_GE(H5Zunregister(counting_filter), 0);

  SerialExecutor executor;
  std::vector<std::unique_ptr<CooSource>> sources;
  sources.push_back(open_hdf5_coo(path));
  const auto reader = make_coo_reader(std::move(sources), 1, executor);
  CoordinateBatch batch;
  const std::string message = message_of_error(ErrorKind::invalid_argument, [&] { reader->next(batch); });

  EXPECT_THAT(message, testing::AllOf(testing::HasSubstr("count (filter 300 of HDF5)"),
                                      testing::HasSubstr("HDF5_PLUGIN_PATH"), testing::HasSubstr("h5repack")));
}

}  // namespace
}  // namespace blco::tests
