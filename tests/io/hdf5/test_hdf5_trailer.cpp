// The checksum behind the HDF5 data, and what is refused before HDF5 sees it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "blco/crc32c.hpp"
#include "io/container/model_file.hpp"
#include "io/hdf5/hdf5_handle.hpp"
#include "io/hdf5/hdf5_trailer.hpp"
#include "tests/io/container/stored_tensor.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/io/hdf5/variable_texts.hpp"

namespace blco::tests {
namespace {

template <class T>
T load(const std::string& bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

template <class T>
void store(std::string& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
}

std::uint32_t crc_of(std::string_view bytes) { return crc32c_portable(std::as_bytes(std::span(bytes))); }

// FORMAT.md: where a superblock of version 3 has the end of the HDF5 data.
std::uint64_t hdf5_end(const std::string& file) { return load<std::uint64_t>(file, 28); }

class Hdf5Trailer : public testing::Test {
 protected:
  Hdf5Trailer() {
    write_tensor(tensor_, container_);
    ModelFile model;
    model.shape = {5, 3};
    model.rank = 2;
    model.weights = {2, 1};
    model.factors = {std::vector<double>(10, 0.25), std::vector<double>(6, 0.5)};
    model.mode_names = {"source", "target"};
    model.method = "apr";
    write_model_file(model_, model);
  }

  // The model with its trailer changed, and the trailer's own checksum right again.
  void change_trailer(const std::function<void(std::string&)>& change) const {
    const std::string whole = file_contents(model_);
    std::string trailer = whole.substr(hdf5_end(whole));
    change(trailer);
    store(trailer, trailer.size() - 8, crc_of(std::string_view(trailer).substr(0, trailer.size() - 8)));
    write_file(model_, whole.substr(0, hdf5_end(whole)) + trailer);
  }

  TemporaryFolder folder_;
  fs::path container_ = folder_ / "t.blco";
  fs::path model_ = folder_ / "m.h5";
  StoredTensor tensor_ = random_tensor({{1ULL << 33, 1ULL << 32, 50}, 2000, 300, Values::doubles});
};

TEST_F(Hdf5Trailer, HasTheChecksumOfAllThatIsNotAPayload) {
  const ContainerReader reader(container_);
  const std::string file = file_contents(container_);
  std::string is_payload(hdf5_end(file), 0);
  for (std::uint64_t chunk = 0; chunk < reader.info().chunk_count(); ++chunk) {
    for (const StoredExtent& extent : reader.extents(chunk)) {
      std::fill_n(is_payload.begin() + static_cast<std::ptrdiff_t>(extent.address), extent.stored_bytes, 1);
    }
  }
  std::string covered;
  for (std::size_t i = 0; i < is_payload.size(); ++i) {
    if (is_payload[i] == 0) covered += file[i];
  }

  const std::string trailer = file.substr(hdf5_end(file));

  EXPECT_EQ(trailer.substr(0, 8), "BLCOTAIL");
  EXPECT_EQ(load<std::uint32_t>(trailer, 8), 1U);
  EXPECT_EQ(load<std::uint32_t>(trailer, 12), crc_of(covered));
  EXPECT_EQ(load<std::uint64_t>(trailer, 16), hdf5_end(file));
  EXPECT_EQ(trailer.size(), 40 + 16 * load<std::uint64_t>(trailer, 24));
  EXPECT_EQ(load<std::uint64_t>(trailer, trailer.size() - 8),
            crc_of(std::string_view(trailer).substr(0, trailer.size() - 8)));
}

TEST_F(Hdf5Trailer, RefusesAModelWithAnyBitFlipped) {
  const std::string whole = file_contents(model_);
  const std::size_t signature_bytes = 8;
  for (std::size_t at = signature_bytes; at < whole.size(); at += 3) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
    write_file(model_, flipped);

    EXPECT_THROW(read_model_file(model_), Error) << "byte " << at;
  }
}

TEST_F(Hdf5Trailer, IsGoneAfterHdf5HasWrittenToTheFile) {
  for (const fs::path& path : {container_, model_}) {
    H5Fclose(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
    EXPECT_EQ(fs::file_size(path), hdf5_end(file_contents(path)));
  }

  EXPECT_EQ(read_columns(ContainerReader(container_)), tensor_.columns);
  EXPECT_EQ(read_model_file(model_).method, "apr");
}

TEST_F(Hdf5Trailer, RefusesWhatIsNeitherItsOwnNorAbsent) {
  const std::string whole = file_contents(model_);
  const std::string hdf5 = whole.substr(0, hdf5_end(whole));
  const std::string zeros(4096, '\0');
  for (const std::string& bytes : {whole + "x", whole.substr(0, whole.size() - 1), hdf5 + "x", hdf5 + zeros}) {
    write_file(model_, bytes);
    expect_error(ErrorKind::corrupt, "are not its checksums", [&] { read_model_file(model_); });
  }
  write_file(model_, hdf5.substr(0, hdf5.size() - 1));
  expect_error(ErrorKind::corrupt, "truncated", [&] { read_model_file(model_); });
}

TEST_F(Hdf5Trailer, RefusesALaterVersionAndRangesBeyondTheFile) {
  change_trailer([](std::string& trailer) { store(trailer, 40, std::uint64_t{1} << 60); });
  expect_error(ErrorKind::corrupt, "bytes that it does not have", [&] { read_model_file(model_); });

  change_trailer([](std::string& trailer) { store(trailer, 8, std::uint32_t{2}); });
  expect_error(ErrorKind::invalid_argument, "version 2", [&] { read_model_file(model_); });
}

TEST_F(Hdf5Trailer, LeavesHeapsOfTextsToBeWalkedWhereItIsAbsent) {
  {
    const Hdf5Place place{model_, ErrorKind::io};
    const Hdf5Id file = own(H5Fopen(model_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose, place, "open");
    checked(H5Adelete(file.get(), "method"), place, "delete");
    write_variable_texts(place, file.get(), "method", {}, {"after so many sweeps that the text is long"});
  }
  const std::string hdf5 = file_contents(model_);
  ASSERT_EQ(hdf5.size(), hdf5_end(hdf5));
  EXPECT_THAT(read_model_file(model_).method, testing::StartsWith("after so many"));
  const std::size_t heap = hdf5.find("GCOL");
  ASSERT_NE(heap, std::string::npos);
  const std::size_t first_size = heap + 16 + 8;
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1} << 20, ~std::uint64_t{0}}) {
    std::string damaged = hdf5;
    store(damaged, first_size, size);
    write_file(model_, damaged);
    expect_error(ErrorKind::corrupt, "the texts at byte " + std::to_string(heap), [&] { read_model_file(model_); });
  }
  std::string zeroed = hdf5;
  zeroed.replace(heap + 40, 64, 64, '\0');
  write_file(model_, zeroed);
  expect_error(ErrorKind::corrupt, "the texts at byte", [&] { read_model_file(model_); });
}

TEST(Complement, HasWhatIsOutsideOfRangesInAnyOrder) {
  using Ranges = std::vector<ByteRange>;
  EXPECT_EQ(complement({}, 10), (Ranges{{0, 10}}));
  EXPECT_EQ(complement({}, 0), Ranges{});
  EXPECT_EQ(complement({{0, 10}}, 10), Ranges{});
  EXPECT_EQ(complement({{6, 2}, {2, 2}, {0, 0}}, 10), (Ranges{{0, 2}, {4, 2}, {8, 2}}));
  EXPECT_EQ(complement({{2, 5}, {3, 1}, {7, 1}}, 10), (Ranges{{0, 2}, {8, 2}}));
  EXPECT_EQ(complement({{8, 5}, {20, 3}}, 10), (Ranges{{0, 8}}));
}

}  // namespace
}  // namespace blco::tests
