// Containers written and read back, by the reader and by HDF5 itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "blco/payload.hpp"
#include "io/container/container_reader.hpp"
#include "io/container/container_writer.hpp"
#include "io/file/file_descriptor.hpp"
#include "io/hdf5/frame_filter.hpp"
#include "io/hdf5/hdf5_handle.hpp"
#include "tests/io/container/stored_tensor.hpp"
#include "tests/io/expect_error.hpp"

namespace blco::tests {
namespace {

struct RoundTripCase {
  const char* name;
  TensorSpec spec;
};

void PrintTo(const RoundTripCase& round_trip, std::ostream* out) { *out << round_trip.name; }

class ContainerRoundTrip : public testing::TestWithParam<RoundTripCase> {};

const RoundTripCase round_trip_cases[] = {
    {"one_nonzero", {{5}, 1, 1 << 20, Values::counts}},
    {"one_chunk_of_default_size", {{100, 200, 300}, 1000, default_chunk_nnz, Values::counts}},
    {"chunks_of_one", {{40, 50}, 5, 1, Values::tenths}},
    {"chunks_of_255", {{40, 50, 60}, 1000, 255, Values::counts}},
    {"chunks_of_256", {{40, 50, 60}, 1024, 256, Values::counts}},
    {"chunks_of_257", {{40, 50, 60}, 1000, 257, Values::counts}},
    {"last_chunk_of_one", {{40, 50, 60}, 1025, 512, Values::counts}},
    {"lines_of_128_bits", {{1ULL << 32, 1ULL << 32, 1ULL << 32, 1ULL << 32}, 1500, 512, Values::counts}},
    {"lines_of_65_bits", {{1ULL << 33, 1ULL << 32}, 700, 300, Values::doubles}},
    {"lines_of_0_bits", {{1, 1}, 1, 300, Values::doubles}},
    {"ones", {{40, 50, 60}, 1000, 300, Values::ones}},
    {"ones_with_key", {{1ULL << 40, 1ULL << 40}, 1000, 300, Values::ones}},
    {"tenths", {{40, 50, 60}, 1000, 300, Values::tenths}},
    {"floats", {{40, 50, 60}, 1000, 300, Values::floats}},
    {"doubles", {{40, 50, 60}, 1000, 300, Values::doubles}},
    {"doubles_level_19", {{40, 50, 60}, 1000, 300, Values::doubles, 19}},
    {"doubles_uncompressed", {{40, 50, 60}, 1000, 300, Values::doubles, 0}},
    {"columns_of_several_pieces", {{1ULL << 40, 1ULL << 40}, 150000, 80000, Values::doubles, 0}},
    {"counts_uncompressed", {{40, 50, 60}, 1000, 300, Values::counts, 0}},
    {"order_16", {std::vector<std::uint64_t>(16, 3), 2000, 700, Values::counts}},
};

INSTANTIATE_TEST_SUITE_P(Container, ContainerRoundTrip, testing::ValuesIn(round_trip_cases),
                         [](const auto& test) { return test.param.name; });

TEST_P(ContainerRoundTrip, GivesBackColumnsBoundsAndInfo) {
  const TemporaryFolder folder;
  const StoredTensor tensor = random_tensor(GetParam().spec);

  const std::uint64_t written = write_tensor(tensor, folder / "t.blco");
  const ContainerReader reader(folder / "t.blco");

  EXPECT_EQ(read_columns(reader), tensor.columns);
  EXPECT_EQ(read_columns(reader, Reading::pieces), tensor.columns);
  EXPECT_EQ(reader.info().shape, tensor.info.shape);
  EXPECT_EQ(reader.info().mode_names, tensor.info.mode_names);
  EXPECT_EQ(reader.info().nnz, tensor.info.nnz);
  EXPECT_EQ(reader.info().chunk_nnz, tensor.info.chunk_nnz);
  EXPECT_EQ(reader.info().sum_of_squares, tensor.info.sum_of_squares);
  EXPECT_EQ(reader.file_bytes(), written);
  EXPECT_EQ(fs::file_size(folder / "t.blco"), written);
  for (std::uint64_t chunk = 0; chunk < tensor.info.chunk_count(); ++chunk) {
    const StoredChunk expected = store_chunk(tensor, chunk);
    EXPECT_THAT(reader.lower(chunk), testing::ElementsAreArray(expected.lower));
    EXPECT_THAT(reader.upper(chunk), testing::ElementsAreArray(expected.upper));
  }
}

template <class T>
std::vector<T> read_whole(const fs::path& path, const char* name) {
  const Hdf5Place place = {path, ErrorKind::corrupt};
  const Hdf5Id file = open_hdf5_file(place);
  const Hdf5Id dataset = own(H5Dopen2(file.get(), name, H5P_DEFAULT), H5Dclose, place, "open");
  const Hdf5Id space = own(H5Dget_space(dataset.get()), H5Sclose, place, "space");
  std::vector<T> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get())));
  const hid_t type = std::is_same_v<T, double> ? H5T_NATIVE_DOUBLE : H5T_NATIVE_UINT64;
  checked(H5Dread(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), place, "cannot read", name);
  return values;
}

TEST_P(ContainerRoundTrip, IsReadAsPlainArraysByHdf5) {
  const TemporaryFolder folder;
  const StoredTensor tensor = random_tensor(GetParam().spec);
  write_tensor(tensor, folder / "t.blco");

  ASSERT_TRUE(register_filters());
  const auto low = read_whole<std::uint64_t>(folder / "t.blco", "index");
  const auto value = read_whole<double>(folder / "t.blco", "value");

  EXPECT_EQ(low, tensor.columns.low);
  EXPECT_EQ(value, tensor.columns.value);
  if (!tensor.columns.key.empty()) {
    EXPECT_EQ(read_whole<std::uint64_t>(folder / "t.blco", "key"), tensor.columns.key);
  }
}

TEST_P(ContainerRoundTrip, GivesTheSameBytesTwice) {
  const TemporaryFolder folder;
  const StoredTensor tensor = random_tensor(GetParam().spec);

  write_tensor(tensor, folder / "a.blco");
  write_tensor(tensor, folder / "b.blco");

  EXPECT_TRUE(file_contents(folder / "a.blco") == file_contents(folder / "b.blco"));
}

const TensorSpec small_spec = {{40, 50, 60}, 1000, 300, Values::counts};

TEST(Container, OnesTakeNoRoomForValues) {
  const TemporaryFolder folder;
  TensorSpec spec = small_spec;
  spec.values = Values::ones;
  write_tensor(random_tensor(spec), folder / "t.blco");

  const ContainerReader reader(folder / "t.blco");

  const StoredExtent& value = reader.extents(0)[static_cast<std::size_t>(Column::value)];
  EXPECT_EQ(value.stored_bytes, 0u);
  EXPECT_EQ(value.payload_bytes, 0u);
}

TEST(Container, MixesChunksOfOnesWithOthers) {
  const TemporaryFolder folder;
  StoredTensor tensor = random_tensor(small_spec);
  std::fill_n(tensor.columns.value.begin() + 300, 300, 1.0);
  write_tensor(tensor, folder / "t.blco");

  const ContainerReader reader(folder / "t.blco");

  EXPECT_EQ(reader.extents(1)[2].payload_bytes, 0u);
  EXPECT_NE(reader.extents(2)[2].payload_bytes, 0u);
  EXPECT_EQ(read_columns(reader), tensor.columns);
  EXPECT_EQ(read_whole<double>(folder / "t.blco", "value"), tensor.columns.value);
}

TEST(Container, LetsSeveralThreadsReadAtOnce) {
  const TemporaryFolder folder;
  const StoredTensor tensor = random_tensor({{40, 50, 60}, 5000, 257, Values::doubles});
  write_tensor(tensor, folder / "t.blco");
  const ContainerReader reader(folder / "t.blco");
  std::vector<Columns> results(4);

  {
    std::vector<std::jthread> threads;
    for (Columns& result : results) threads.emplace_back([&] { result = read_columns(reader); });
  }

  EXPECT_THAT(results, testing::Each(tensor.columns));
}

TEST(Container, AppearsOnlyWhenFinished) {
  const TemporaryFolder folder;
  const StoredTensor tensor = random_tensor(small_spec);

  {
    ContainerWriter writer(folder / "t.blco", tensor.info);
    writer.append(store_chunk(tensor, 0));
    EXPECT_FALSE(fs::exists(folder / "t.blco"));
  }

  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Container, LeavesAnOldFileAloneUntilItIsReplaced) {
  const TemporaryFolder folder;
  const StoredTensor tensor = random_tensor(small_spec);
  write_file(folder / "t.blco", "old");

  { ContainerWriter writer(folder / "t.blco", tensor.info); }
  const std::string after_failure = file_contents(folder / "t.blco");
  write_tensor(tensor, folder / "t.blco");

  EXPECT_EQ(after_failure, "old");
  EXPECT_EQ(read_columns(ContainerReader(folder / "t.blco")), tensor.columns);
}

TEST(Container, RefusesToWriteIntoAFolderThatIsNotThere) {
  const TemporaryFolder folder;

  const auto create = [&] { ContainerWriter(folder / "no/t.blco", random_tensor(small_spec).info); };

  expect_error(ErrorKind::io, "no", create);
}

TEST(Container, RefusesWhatDoesNotMakeAContainer) {
  const TemporaryFolder folder;
  const StoredTensor tensor = random_tensor(small_spec);
  const auto writer_after = [&](std::uint64_t chunks) {
    ContainerWriter writer(folder / "t.blco", tensor.info);
    for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) writer.append(store_chunk(tensor, chunk));
    return writer;
  };
  const auto finish_with = [&](auto change) {
    ContainerInfo info = tensor.info;
    change(info);
    writer_after(4).finish(info);
  };
  const auto append_with = [&](auto change) {
    StoredChunk chunk = store_chunk(tensor, 0);
    change(chunk);
    writer_after(0).append(chunk);
  };
  const auto refused = [](const char* words, auto call) { expect_error(ErrorKind::invalid_argument, words, call); };

  refused("number of chunks", [&] { writer_after(3).finish(tensor.info); });
  refused("fixed", [&] { finish_with([](ContainerInfo& info) { info.shape[0] = 41; }); });
  refused("at least one nonzero", [&] { finish_with([](ContainerInfo& info) { info.nnz = 0; }); });
  refused("a name for every mode", [&] { finish_with([](ContainerInfo& info) { info.mode_names.pop_back(); }); });
  refused("zero byte", [&] { finish_with([](ContainerInfo& info) { info.mode_names[0] = std::string(1, '\0'); }); });
  refused("the name of the values",
          [&] { finish_with([](ContainerInfo& info) { info.value_name = std::string(4097, 'x'); }); });
  refused("sum of squares", [&] {
    finish_with([](ContainerInfo& info) { info.sum_of_squares = std::numeric_limits<double>::infinity(); });
  });
  refused("index column", [&] { append_with([](StoredChunk& chunk) { chunk.columns[0].bytes.clear(); }); });
  refused("key column", [&] { append_with([](StoredChunk& chunk) { chunk.columns[1] = chunk.columns[0]; }); });
  refused("outside the shape", [&] { append_with([](StoredChunk& chunk) { chunk.upper[2] = 60; }); });
  refused("every mode", [&] { append_with([](StoredChunk& chunk) { chunk.lower.pop_back(); }); });
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Container, RefusesChunkSizesOutOfRange) {
  const TemporaryFolder folder;
  ContainerInfo info = random_tensor(small_spec).info;

  for (const std::uint64_t chunk_nnz : {std::uint64_t{0}, max_chunk_nnz + 1}) {
    info.chunk_nnz = chunk_nnz;
    expect_error(ErrorKind::invalid_argument, "nonzeros", [&] { ContainerWriter(folder / "t.blco", info); });
  }
}

TEST(StorePayload, KeepsCompressionOnlyWhereItPays) {
  const std::vector<std::uint64_t> regular(5000, 7);
  std::vector<double> random_values(5000);
  std::mt19937_64 random(3);
  for (double& value : random_values)
    value = std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 900));
  std::vector<double> near(5000);
  for (double& value : near) value = 1.0 + std::ldexp(static_cast<double>(random() % 1000000), -45);

  const auto packed = store_payload(encode_line_column(regular), 3, 10);
  const auto noise = store_payload(encode_values(random_values), 3, 10);
  const auto shuffled = store_payload(encode_values(near), 3, 10);
  const auto plain = store_payload(encode_values(near), 0, 10);
  const auto ones = store_payload(encode_values(std::vector<double>(100, 1.0)), 3, 10);

  EXPECT_EQ(packed.filter_mask, 0u);
  EXPECT_LT(packed.bytes.size(), packed.payload_bytes);
  EXPECT_EQ(noise.filter_mask, 2u);
  EXPECT_EQ(shuffled.filter_mask, 0u);
  EXPECT_LT(shuffled.bytes.size(), shuffled.payload_bytes / 2);
  EXPECT_EQ(plain.filter_mask, 2u);
  EXPECT_EQ(plain.bytes, encode_values(near));
  EXPECT_TRUE(ones.bytes.empty());
  EXPECT_EQ(ones.payload_bytes, 0u);
}

// Pieces of a long payload are tried first.
TEST(StorePayload, TriesALongPayloadByItsPieces) {
  std::mt19937_64 random(5);
  std::vector<std::uint64_t> noise(200000);
  for (std::uint64_t& value : noise) value = random();
  std::vector<std::uint64_t> repeated(200000);
  for (std::size_t i = 0; i < repeated.size(); ++i) repeated[i] = noise[i % 500];
  ASSERT_GT(encode_line_column(noise).size(), 1u << 20);

  EXPECT_EQ(store_payload(encode_line_column(noise), 3, 10).filter_mask, 2u);
  const StoredPayload packed = store_payload(encode_line_column(repeated), 3, 10);
  EXPECT_EQ(packed.filter_mask, 0u);
  EXPECT_LT(packed.bytes.size(), packed.payload_bytes / 10);
}

TEST(StorePayload, KeepsAnySavingWhereItIsAskedTo) {
  std::mt19937_64 random(5);
  std::vector<std::uint64_t> noise(200000);
  for (std::uint64_t& value : noise) value = random();
  std::vector<std::uint64_t> with_repeats = noise;
  for (std::size_t i = 100000; i < 106000; ++i) with_repeats[i] = noise[i % 500];
  const std::vector<std::byte> payload = encode_line_column(with_repeats);

  const StoredPayload fast = store_payload(payload, 3, 10);
  const StoredPayload small = store_payload(payload, 3, 0);

  EXPECT_EQ(fast.filter_mask, 2u);
  EXPECT_EQ(small.filter_mask, 0u);
  EXPECT_LT(small.bytes.size(), payload.size());
  EXPECT_GT(small.bytes.size(), payload.size() * 9 / 10);
}

TEST(StorePayload, RefusesLevelsThatZstdDoesNotKnow) {
  const std::vector<std::byte> payload = encode_line_column(std::vector<std::uint64_t>(10, 1));

  expect_error(ErrorKind::invalid_argument, "zstd level 23", [&] { store_payload(payload, 23, 10); });
  expect_error(ErrorKind::invalid_argument, "zstd level -1", [&] { store_payload(payload, -1, 10); });
}

// Payloads of more than one transfer, and small ones; on a file system that knows no such reads, an ordinary read.
TEST(Container, GivesTheSameBytesPastTheSystemsCache) {
  for (const int level : {0, 3}) {
    const TemporaryFolder folder;
    write_tensor(random_tensor({{3000, 4000, 500}, 300'000, 200'000, Values::doubles, level}), folder / "t.blco");
    const ContainerReader reader(folder / "t.blco");
    for (std::uint64_t chunk = 0; chunk < 2; ++chunk) {
      ChunkBuffers cached(reader, chunk);
      ChunkBuffers direct(reader, chunk);
      direct.scratch.resize(std::max(reader.scratch_bytes(0), reader.scratch_bytes(1)) + direct_room_bytes);

      const ChunkView expected = reader.read_chunk(chunk, cached.buffer(), cached.scratch);
      const ChunkView actual = reader.read_chunk(chunk, direct.buffer(), direct.scratch);

      for (std::size_t c = 0; c < column_count; ++c) {
        EXPECT_TRUE(std::ranges::equal(actual.payload[c], expected.payload[c])) << "column " << c;
      }
    }
    std::fstream file(folder / "t.blco", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(reader.extents(1)[2].address + reader.extents(1)[2].stored_bytes - 100));
    file << "damaged";
    file.close();
    ChunkBuffers direct(reader, 1);
    direct.scratch.resize(direct.scratch.size() + direct_room_bytes);
    expect_error(ErrorKind::corrupt, "chunk 1, column value",
                 [&] { reader.read_chunk(1, direct.buffer(), direct.scratch); });
  }
}

TEST(Container, RefusesBuffersThatAreTooSmall) {
  const TemporaryFolder folder;
  write_tensor(random_tensor(small_spec), folder / "t.blco");
  const ContainerReader reader(folder / "t.blco");
  ChunkBuffers buffers(reader, 0);
  const auto short_buffer = buffers.buffer().first(buffers.buffer_bytes - 1);

  expect_error(ErrorKind::invalid_argument, "does not fit",
               [&] { reader.read_chunk(0, short_buffer, buffers.scratch); });
  expect_error(ErrorKind::invalid_argument, "no chunk 4",
               [&] { reader.read_chunk(4, buffers.buffer(), buffers.scratch); });
}

herr_t count_call(hid_t, void* count) {
  ++*static_cast<int*>(count);
  return 0;
}

TEST(Container, PrintsNothingAndKeepsTheHostProgramsErrorHandler) {
  const TemporaryFolder folder;
  write_tensor(random_tensor(small_spec), folder / "t.blco");
  const std::string whole = file_contents(folder / "t.blco");
  write_file(folder / "t.blco", whole.substr(0, whole.size() / 2));
  int calls = 0;
  ASSERT_GE(H5Eset_auto2(H5E_DEFAULT, count_call, &calls), 0);

  expect_error(ErrorKind::corrupt, "truncated", [&] { ContainerReader(folder / "t.blco"); });
  const int calls_inside = calls;
  const hid_t refused = H5Fopen((folder / "absent").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);

  EXPECT_LT(refused, 0);
  EXPECT_EQ(calls_inside, 0);
  EXPECT_EQ(calls, 1);
}

class ContainerCopies : public testing::TestWithParam<std::vector<std::uint64_t>> {};

INSTANTIATE_TEST_SUITE_P(Container, ContainerCopies,
                         testing::Values(std::vector<std::uint64_t>{40, 50, 60},
                                         std::vector<std::uint64_t>{1ULL << 33, 1ULL << 32, 50}));

TEST_P(ContainerCopies, AreReadInTheirOwnOrderBesideTheNaturalOne) {
  const TemporaryFolder folder;
  const StoredTensor tensor = random_tensor({GetParam(), 1000, 300, Values::doubles});
  const std::uint64_t written = write_tensor(tensor, folder / "t.blco", {0, 2});

  const ContainerReader reader(folder / "t.blco");

  EXPECT_EQ(read_columns(reader), tensor.columns);
  EXPECT_EQ(reader.file_bytes(), written);
  EXPECT_EQ(reader.ordered_copy(1), nullptr);
  for (const int mode : {0, 2}) {
    const ChunkSource* const copy = reader.ordered_copy(static_cast<std::uint64_t>(mode));
    ASSERT_NE(copy, nullptr);
    const BitModes bits = bit_modes_of(GetParam(), mode);
    EXPECT_EQ(copy->info().bit_modes, bits);
    EXPECT_EQ(read_columns(*copy), in_order(tensor, bits).columns);
    EXPECT_EQ(read_columns(*copy, Reading::pieces), in_order(tensor, bits).columns);
    EXPECT_THAT(copy->upper(0), testing::ElementsAreArray(store_chunk(in_order(tensor, bits), 0).upper));
    EXPECT_NE(copy->name().find("order of mode " + std::to_string(mode)), std::string::npos);
  }
}

TEST(ContainerWriter, TakesCopiesThatAreSortedByTheirModeAlone) {
  const TemporaryFolder folder;
  const StoredTensor tensor = random_tensor({{40, 50, 60}, 10, 300, Values::counts});
  const std::vector<std::uint64_t>& shape = tensor.spec.shape;
  ContainerWriter writer(folder / "t.blco", tensor.info);
  writer.append(store_chunk(tensor, 0));

  for (const BitModes& bits : {natural_bit_modes(shape), bit_modes_of(shape, 1), BitModes{0, 1}}) {
    expect_error(ErrorKind::invalid_argument, "", [&] { writer.begin_copy(0, bits); });
  }
  writer.begin_copy(1, bit_modes_of(shape, 1));
  expect_error(ErrorKind::invalid_argument, "must come in the order of modes",
               [&] { writer.begin_copy(0, bit_modes_of(shape, 0)); });
  // The copy lacks its chunk.
  expect_error(ErrorKind::invalid_argument, "nnz disagrees", [&] { writer.finish(tensor.info); });
}

}  // namespace
}  // namespace blco::tests
