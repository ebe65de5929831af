// Export to text: what a container holds, in its order, bit for bit, whatever the threads; or nothing at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/export.hpp>
#include <blco/ingest.hpp>
#include <charconv>
#include <stdexcept>

#include "io/container/container_writer.hpp"
#include "tests/engine/coordinate_tensor.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/two_to.hpp"

namespace blco {
namespace {

// Reads the text back by nothing but from_chars.
CoordinateTensor parse(const std::string& text, std::size_t order, std::uint64_t base) {
  CoordinateTensor tensor;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    Point point(order);
    for (std::uint64_t& coordinate : point) {
      at = std::from_chars(at, end, coordinate).ptr;
      EXPECT_EQ(*at++, ' ');
      coordinate -= base;
    }
    at = std::from_chars(at, end, tensor.values.emplace_back()).ptr;
    EXPECT_EQ(*at++, '\n');
    tensor.points.push_back(point);
  }
  return tensor;
}

std::string exported(const std::filesystem::path& container, const TextOptions& options = {}) {
  std::string text;
  const TextReport report =
      export_text(TensorFile(container), TextSink([&](std::string_view part) { text += part; }), options);
  EXPECT_EQ(report.text_bytes, text.size());
  EXPECT_EQ(report.nnz, std::ranges::count(text, '\n'));
  return text;
}

class EveryShape : public testing::TestWithParam<std::vector<std::uint64_t>> {};

TEST_P(EveryShape, IsExportedInTheOrderOfTheContainer) {
  const TemporaryFolder folder;
  const auto tensor = random_coordinates({.shape = GetParam(), .nnz = 20'000, .seed = 3});
  ingest_files({folder.write("in.tns", as_text(tensor))}, folder / "a.blco", {.shape = GetParam(), .chunk_nnz = 9000});
  const CoordinateTensor expected = read_container(folder / "a.blco");

  for (const int base : {0, 1}) {
    const CoordinateTensor actual =
        parse(exported(folder / "a.blco", {.index_base = base}), GetParam().size(), static_cast<std::uint64_t>(base));

    EXPECT_EQ(actual.points, expected.points);
    EXPECT_EQ(actual.values, expected.values);
  }
  EXPECT_EQ(as_map(expected), summed(tensor));
}

INSTANTIATE_TEST_SUITE_P(ExportText, EveryShape,
                         testing::Values(std::vector<std::uint64_t>{two_to(20)}, std::vector<std::uint64_t>{300, 5, 7},
                                         std::vector<std::uint64_t>{two_to(22), two_to(22), two_to(21)},
                                         std::vector<std::uint64_t>{two_to(63) + 5, two_to(63) + 1},
                                         std::vector<std::uint64_t>(16, 256)),
                         [](const auto& test) {
                           return "bits_" + std::to_string(TensorLayout(test.param).line_bits()) + "_order_" +
                                  std::to_string(test.param.size());
                         });

TEST(ExportText, IsTheSameOnAnyNumberOfThreadsAndInAFile) {
  const TemporaryFolder folder;
  const auto tensor = random_coordinates({.shape = {5000, 400, 30}, .nnz = 600'000, .seed = 4, .counts = true});
  ingest_files({folder.write("in.tns", as_text(tensor))}, folder / "a.blco", {.chunk_nnz = 400'000});
  const std::string one = exported(folder / "a.blco", {.threads = 1});

  export_text(TensorFile(folder / "a.blco"), folder / "out.tns", {.threads = 3});

  EXPECT_EQ(exported(folder / "a.blco", {.threads = 4}), one);
  EXPECT_EQ(file_contents(folder / "out.tns"), one);
}

TEST(ExportText, WritesWholeNumbersAsSuchAndOthersInTheShortestForm) {
  const TemporaryFolder folder;
  const std::string text =
      "1 1\n2 100000\n3 -3\n4 0\n5 -0\n6 9007199254740991\n7 9007199254740992\n8 0.25\n9 0.1\n10 -1e-09\n11 5e-324\n"
      "12 1e+22\n13 123456.789\n";

  ingest_files({folder.write("in.tns", text)}, folder / "a.blco");

  EXPECT_EQ(exported(folder / "a.blco"), text);
}

TEST(ExportText, ReadsBackAsTheSameContainer) {
  const TemporaryFolder folder;
  CoordinateTensor tensor{{900, 800}, {}, {}};  // no coordinates twice, which a container remembers and text does not
  for (const auto& [point, value] : summed(random_coordinates({.shape = {900, 800}, .nnz = 3000, .seed = 5}))) {
    tensor.points.push_back(point);
    tensor.values.push_back(value);
  }
  ingest_files({folder.write("in.tns", as_text(tensor))}, folder / "a.blco", {.shape = {900, 800}, .chunk_nnz = 700});

  for (const char* name : {"out.tns", "out.tns.gz", "out.tns.zst"}) {
    export_text(TensorFile(folder / "a.blco"), folder / name);
    ingest_files({folder / name}, folder / "b.blco", {.shape = {900, 800}, .chunk_nnz = 700});

    EXPECT_EQ(file_contents(folder / "a.blco"), file_contents(folder / "b.blco")) << name;
  }
}

class OneTensor : public testing::Test {
 protected:
  OneTensor() {
    const auto tensor = random_coordinates({.shape = {900, 800}, .nnz = 3000, .seed = 5});
    ingest_files({folder_.write("in.tns", as_text(tensor))}, path_, {.chunk_nnz = 700});
    std::filesystem::remove(folder_ / "in.tns");
  }
  std::ptrdiff_t file_count() const {
    return std::distance(std::filesystem::directory_iterator(folder_.path()), std::filesystem::directory_iterator());
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "a.blco";
};

TEST_F(OneTensor, LeavesNothingBehindWhereItIsCancelled) {
  const TensorFile tensor(path_);

  expect_error(ErrorKind::cancelled, "cancelled",
               [&] { export_text(tensor, folder_ / "out.tns", {}, [](const Progress&) { return false; }); });

  EXPECT_EQ(file_count(), 1);
}

TEST_F(OneTensor, ReportsTheWholeAtTheEnd) {
  Progress last;
  export_text(TensorFile(path_), folder_ / "out.tns", {}, [&](const Progress& progress) {
    last = progress;
    return true;
  });

  EXPECT_STREQ(last.stage, "export");
  EXPECT_EQ(last.share, 1);
  EXPECT_EQ(last.nonzeros, TensorFile(path_).summary().nnz);
  EXPECT_GT(last.bytes, 0u);
}

TEST_F(OneTensor, PassesOnWhatTheSinkThrows) {
  const TextSink sink = [](std::string_view) { throw std::runtime_error("full"); };

  EXPECT_THROW(export_text(TensorFile(path_), sink), std::runtime_error);
}

TEST_F(OneTensor, RefusesNamesAndBasesThatItDoesNotKnow) {
  const TensorFile tensor(path_);
  for (const char* name : {"out", "out.npy", "out.gz", "out.tns.bz2"}) {
    expect_error(ErrorKind::invalid_argument, "name a file that ends in", [&] { export_text(tensor, folder_ / name); });
  }
  expect_error(ErrorKind::invalid_argument, "`index_base`",
               [&] { export_text(tensor, folder_ / "out.tns", {.index_base = 2}); });
  EXPECT_EQ(file_count(), 1);
}

TEST_F(OneTensor, StopsAtADamagedChunk) {
  std::string bytes = file_contents(path_);
  const std::uint64_t address = ContainerReader(path_).extents(3)[0].address;
  bytes[address + 40] = static_cast<char>(bytes[address + 40] ^ 1);
  folder_.write("a.blco", bytes);
  const TensorFile tensor(path_);

  const std::string message = message_of_error(ErrorKind::corrupt, [&] { export_text(tensor, folder_ / "out.tns"); });

  EXPECT_THAT(message, testing::HasSubstr("chunk 3, column index"));
  EXPECT_EQ(file_count(), 1);
}

TEST(ExportText, RefusesCoordinatesOutsideTheShape) {
  const TemporaryFolder folder;
  const ContainerInfo info{{3, 5}, {"a", "b"}, 2, 10, 2.0};
  StoredChunk chunk;
  // Five bits: the last line is (3, 7).
  chunk.columns[0] = store_payload(encode_line_column(std::vector<std::uint64_t>{0, 31}), 0, 0);
  chunk.columns[2] = store_payload(encode_values(std::vector<double>{1, 1}), 0, 0);
  chunk.lower = {0, 0};
  chunk.upper = {2, 4};
  ContainerWriter writer(folder / "a.blco", info);
  writer.append(chunk);
  writer.finish(info);

  const std::string message = message_of_error(ErrorKind::corrupt, [&] { exported(folder / "a.blco"); });

  EXPECT_THAT(message, testing::HasSubstr("chunk 0 has coordinates outside the shape"));
}

}  // namespace
}  // namespace blco
