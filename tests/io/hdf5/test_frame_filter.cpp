// The filters as HDF5 uses them, and called directly with what is not acceptable.
#include <gtest/gtest.h>
#include <zstd.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "blco/payload.hpp"
#include "io/hdf5/frame_filter.hpp"
#include "io/hdf5/hdf5_handle.hpp"
#include "tests/io/container/stored_tensor.hpp"

namespace blco::tests {
namespace {

class Filters : public testing::Test {
 protected:
  Filters() { EXPECT_TRUE(register_filters()); }

  // A dataset of 8-byte numbers with the frame filter (without client data), then zstd if asked for.
  Hdf5Id create(hid_t type, hsize_t count, hsize_t chunk, bool zstd) const {
    const Hdf5Id creation = make_properties(place_, H5P_DATASET_CREATE);
    checked(H5Pset_chunk(creation.get(), 1, &chunk), place_, "chunk");
    checked(H5Pset_filter(creation.get(), frame_filter_id, H5Z_FLAG_MANDATORY, 0, nullptr), place_, "filter");
    if (zstd) checked(H5Pset_filter(creation.get(), zstd_filter_id, H5Z_FLAG_OPTIONAL, 0, nullptr), place_, "filter");
    // Extendible, as columns are: HDF5 1.10 reads back a chunk written directly into its single-chunk form unfiltered.
    const hsize_t unlimited = H5S_UNLIMITED;
    const Hdf5Id space = own(H5Screate_simple(1, &count, &unlimited), H5Sclose, place_, "space");
    return own(H5Dcreate2(file_.get(), "column", type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT), H5Dclose,
               place_, "create");
  }

  template <class T>
  void expect_round_trip(const std::vector<T>& values, hsize_t chunk, bool zstd) {
    const hid_t type = std::is_same_v<T, double> ? H5T_NATIVE_DOUBLE : H5T_NATIVE_UINT64;
    {
      const Hdf5Id dataset = create(type, values.size(), chunk, zstd);
      checked(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), place_, "write");
    }
    file_.close(place_, "close");
    file_ = own(H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose, place_, "open");
    std::vector<T> read(values.size());
    {
      const Hdf5Id dataset = own(H5Dopen2(file_.get(), "column", H5P_DEFAULT), H5Dclose, place_, "open");
      checked(H5Dread(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data()), place_, "read");
    }
    EXPECT_EQ(std::memcmp(read.data(), values.data(), 8 * values.size()), 0) << values.size() << " in " << chunk;
    checked(H5Ldelete(file_.get(), "column", H5P_DEFAULT), place_, "delete");
  }

  QuietHdf5 quiet_;
  TemporaryFolder folder_;
  fs::path path_ = folder_ / "f.h5";
  Hdf5Place place_{path_, ErrorKind::io};
  Hdf5Id file_ = create_hdf5_file(place_, path_);
};

TEST_F(Filters, RoundTripLinesInChunksAstrideFrames) {
  std::mt19937_64 random(1);
  for (const hsize_t chunk : {1, 255, 256, 257, 1000}) {
    std::vector<std::uint64_t> lines(1000);
    for (auto& line : lines) line = random();

    expect_round_trip(lines, chunk, /*zstd=*/false);
    expect_round_trip(lines, chunk, /*zstd=*/true);
  }
}

TEST_F(Filters, RoundTripValuesOfEveryCodec) {
  std::mt19937_64 random(2);
  for (const Values kind : {Values::ones, Values::counts, Values::tenths, Values::floats, Values::doubles}) {
    std::vector<double> values(1000);
    for (double& value : values) value = random_value(kind, random);

    expect_round_trip(values, 300, /*zstd=*/false);
    expect_round_trip(values, 300, /*zstd=*/true);
  }
}

TEST_F(Filters, RoundTripValuesThatIngestRefuses) {
  std::vector<double> values(500, 1.0);
  values[3] = -0.0;
  values[4] = std::numeric_limits<double>::infinity();
  values[5] = std::bit_cast<double>(std::uint64_t{0x7ff8000000001234});
  values[6] = std::numeric_limits<double>::denorm_min();

  expect_round_trip(values, 256, /*zstd=*/true);
}

TEST_F(Filters, StoreOnePayloadPerChunkThenZstd) {
  const std::vector<std::uint64_t> lines(700, 9);
  const Hdf5Id dataset = create(H5T_NATIVE_UINT64, lines.size(), 300, /*zstd=*/true);
  checked(H5Dwrite(dataset.get(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, lines.data()), place_, "write");
  checked(H5Dflush(dataset.get()), place_, "flush");

  const hsize_t first = 300;
  hsize_t bytes = 0;
  std::uint32_t mask = 0;
  checked(H5Dget_chunk_storage_size(dataset.get(), &first, &bytes), place_, "size");
  std::vector<std::byte> stored(bytes);
  checked(H5Dread_chunk(dataset.get(), H5P_DEFAULT, &first, &mask, stored.data()), place_, "read");
  std::vector<std::byte> payload(ZSTD_getFrameContentSize(stored.data(), stored.size()));
  const std::size_t size = ZSTD_decompress(payload.data(), payload.size(), stored.data(), stored.size());

  EXPECT_EQ(mask, 0u);
  EXPECT_EQ(size, payload.size());
  EXPECT_EQ(payload, encode_line_column(std::vector<std::uint64_t>(300, 9)));
}

TEST_F(Filters, ReadZerosPastTheEndOfAShortPayload) {
  const std::vector<std::uint64_t> lines = {4, 5, 6};
  const std::vector<std::byte> payload = encode_line_column(lines);
  const Hdf5Id dataset = create(H5T_NATIVE_UINT64, 300, 300, /*zstd=*/false);
  const hsize_t first = 0;
  checked(H5Dwrite_chunk(dataset.get(), H5P_DEFAULT, 0, &first, payload.size(), payload.data()), place_, "write");

  std::vector<std::uint64_t> read(300, 1);
  checked(H5Dread(dataset.get(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data()), place_, "read");

  std::vector<std::uint64_t> expected(300, 0);
  std::copy(lines.begin(), lines.end(), expected.begin());
  EXPECT_EQ(read, expected);
}

TEST_F(Filters, MakeTheReadFailForADamagedPayload) {
  const std::vector<std::byte> payload = encode_line_column(std::vector<std::uint64_t>(300, 4));
  for (const std::size_t at : {std::size_t{0}, std::size_t{8}, payload.size() - 1}) {
    std::vector<std::byte> damaged = payload;
    damaged[at] ^= std::byte{1};
    const Hdf5Id dataset = create(H5T_NATIVE_UINT64, 300, 300, /*zstd=*/false);
    const hsize_t first = 0;
    checked(H5Dwrite_chunk(dataset.get(), H5P_DEFAULT, 0, &first, damaged.size(), damaged.data()), place_, "write");

    std::vector<std::uint64_t> read(300);
    const herr_t result = H5Dread(dataset.get(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data());

    EXPECT_LT(result, 0) << "byte " << at;
    checked(H5Ldelete(file_.get(), "column", H5P_DEFAULT), place_, "delete");
  }
}

TEST_F(Filters, RefuseTypesAndChunksThatAreNoColumns) {
  EXPECT_THROW(create(H5T_NATIVE_FLOAT, 10, 10, false), Error);
  EXPECT_THROW(create(H5T_STD_U64BE, 10, 10, false), Error);
  EXPECT_THROW(create(H5T_NATIVE_UINT64, max_chunk_nnz + 1, max_chunk_nnz + 1, false), Error);
}

// Calls a filter as HDF5 does; the buffer is HDF5's.
struct FilterCall {
  explicit FilterCall(std::span<const std::byte> input) : bytes(input.size()), size(input.size()) {
    buffer = H5allocate_memory(std::max<std::size_t>(1, input.size()), false);
    if (!input.empty()) std::memcpy(buffer, input.data(), input.size());
  }
  ~FilterCall() { H5free_memory(buffer); }
  FilterCall(const FilterCall&) = delete;
  FilterCall& operator=(const FilterCall&) = delete;

  std::size_t run(const H5Z_class2_t& filter, unsigned flags, std::vector<unsigned> data) {
    return filter.filter(flags, data.size(), data.data(), bytes, &size, &buffer);
  }

  std::size_t bytes;
  std::size_t size;
  void* buffer = nullptr;
};

TEST_F(Filters, LeaveTheBufferAloneWhereTheyFail) {
  const std::vector<std::byte> lines = encode_line_column(std::vector<std::uint64_t>(300, 4));
  const std::vector<std::byte> shorter(lines.begin(), lines.end() - 8);
  const std::vector<std::byte> nothing;
  struct Case {
    const H5Z_class2_t& filter;
    unsigned flags;
    std::vector<unsigned> data;
    std::span<const std::byte> input;
  };
  const std::vector<Case> cases = {
      {frame_filter_class(), H5Z_FLAG_REVERSE, {}, lines},
      {frame_filter_class(), H5Z_FLAG_REVERSE, {2, 0, 300}, lines},
      {frame_filter_class(), H5Z_FLAG_REVERSE, {1, 2, 300}, lines},
      {frame_filter_class(), H5Z_FLAG_REVERSE, {1, 0, 0}, lines},
      {frame_filter_class(), H5Z_FLAG_REVERSE, {1, 0, 299}, lines},
      {frame_filter_class(), H5Z_FLAG_REVERSE, {1, 1, 300}, lines},
      {frame_filter_class(), H5Z_FLAG_REVERSE, {1, 0, 1u << 25}, lines},
      {frame_filter_class(), H5Z_FLAG_REVERSE, {1, 0, 300}, shorter},
      {frame_filter_class(), H5Z_FLAG_REVERSE, {1, 0, 300}, nothing},
      {frame_filter_class(), 0, {1, 0, 300}, lines},
      {zstd_filter_class(), H5Z_FLAG_REVERSE, {}, lines},
      {zstd_filter_class(), H5Z_FLAG_REVERSE, {}, nothing},
  };

  for (const Case& one : cases) {
    FilterCall call(one.input);
    void* const before = call.buffer;

    EXPECT_EQ(call.run(one.filter, one.flags, one.data), 0u);

    EXPECT_EQ(call.buffer, before);
    EXPECT_EQ(call.size, one.input.size());
  }
}

TEST_F(Filters, RefuseAZstdFrameThatLiesAboutItsSize) {
  const std::vector<std::byte> raw(5000);
  std::vector<std::byte> frame(ZSTD_compressBound(raw.size()));
  frame.resize(ZSTD_compress(frame.data(), frame.size(), raw.data(), raw.size(), 3));
  FilterCall whole(frame);
  FilterCall cut(std::span<const std::byte>(frame).first(frame.size() - 3));

  EXPECT_EQ(whole.run(zstd_filter_class(), H5Z_FLAG_REVERSE, {}), raw.size());
  EXPECT_EQ(cut.run(zstd_filter_class(), H5Z_FLAG_REVERSE, {}), 0u);
}

}  // namespace
}  // namespace blco::tests
