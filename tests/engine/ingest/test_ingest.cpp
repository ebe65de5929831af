// Ingest: what comes out of a container is what went in, whatever the width of the line, the policy or the threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <blco/ingest.hpp>
#include <blco/tensor_file.hpp>
#include <cmath>
#include <random>

#include "tests/engine/coordinate_tensor.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/two_to.hpp"

namespace blco {
namespace {

struct WidthCase {
  int bits;
  std::vector<std::uint64_t> shape;
};

class EveryLine : public testing::TestWithParam<WidthCase> {};

TEST_P(EveryLine, ComesBackFromTheContainer) {
  const TemporaryFolder folder;
  const auto tensor = random_coordinates({.shape = GetParam().shape, .nnz = 1500, .seed = 3});
  const auto text = folder.write("in.tns", as_text(tensor));

  const IngestReport report = ingest_files({text}, folder / "out.blco", {.shape = GetParam().shape, .chunk_nnz = 400});

  EXPECT_EQ(TensorLayout(report.shape).line_bits(), GetParam().bits);
  EXPECT_EQ(as_map(read_container(folder / "out.blco")), summed(tensor));
  EXPECT_EQ(report.entries_read, 1500);
  EXPECT_EQ(report.nnz, summed(tensor).size());
}

INSTANTIATE_TEST_SUITE_P(Ingest, EveryLine,
                         testing::Values(WidthCase{0, {1, 1, 1}}, WidthCase{1, {1, 2, 1}}, WidthCase{10, {1000}},
                                         WidthCase{14, {97, 101}}, WidthCase{63, {two_to(21), two_to(21), two_to(21)}},
                                         WidthCase{64, {two_to(22), two_to(21), two_to(21)}},
                                         WidthCase{65, {two_to(22), two_to(22), two_to(21)}},
                                         WidthCase{66, {two_to(22), two_to(22), two_to(22)}},
                                         WidthCase{74, {two_to(40), two_to(5), two_to(29)}},
                                         WidthCase{88, {two_to(30), two_to(28), two_to(30)}},
                                         WidthCase{128, {two_to(32), two_to(32), two_to(32), two_to(32)}},
                                         WidthCase{17, {7, 5, 8, 3, 6, 4, 2}}, WidthCase{16, {3, 3, 3, 3, 3, 3, 3, 3}},
                                         WidthCase{16, {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}}),
                         [](const auto& test) {
                           return std::to_string(test.param.bits) + "_bits_order_" +
                                  std::to_string(test.param.shape.size());
                         });

TEST(Ingest, TakesTheLargestCoordinatesAsTheShape) {
  const TemporaryFolder folder;
  const auto text = folder.write("in.tns", "1 7 2 1.5\n9 3 4 2.5\n");

  const IngestReport report = ingest_files({text}, folder / "out.blco");

  EXPECT_THAT(report.shape, testing::ElementsAre(9, 7, 4));
}

TEST(Ingest, ReadsSeveralFilesAsOneTensor) {
  const TemporaryFolder folder;
  const auto first = folder.write("a.tns", "1 1 1\n2 2 2\n");
  const auto second = folder.write("b.tns", "2 2 5\n3 1 7\n");

  ingest_files({first, second}, folder / "out.blco");

  const std::map<Point, double> expected = {{{0, 0}, 1}, {{1, 1}, 7}, {{2, 0}, 7}};
  EXPECT_EQ(as_map(read_container(folder / "out.blco")), expected);
}

TEST(Ingest, CoalescesDuplicatesByThePolicyInInputOrder) {
  const TemporaryFolder folder;
  const auto text = folder.write("in.tns", "1 1 0.1\n2 2 4\n1 1 -3\n1 1 0.2\n");
  const auto value_at_first = [&](DuplicatePolicy policy) {
    ingest_files({text}, folder / "out.blco", {.duplicates = policy});
    return as_map(read_container(folder / "out.blco")).at({0, 0});
  };

  EXPECT_EQ(value_at_first(DuplicatePolicy::sum), (0.1 + -3) + 0.2);
  EXPECT_EQ(value_at_first(DuplicatePolicy::first), 0.1);
  EXPECT_EQ(value_at_first(DuplicatePolicy::last), 0.2);
  EXPECT_EQ(value_at_first(DuplicatePolicy::max), 0.2);
  EXPECT_EQ(value_at_first(DuplicatePolicy::mean), ((0.1 + -3) + 0.2) / 3);
  EXPECT_EQ(value_at_first(DuplicatePolicy::count), 3);
}

TEST(Ingest, CoalescesDuplicatesThatStraddleAChunk) {
  const TemporaryFolder folder;
  const auto text = folder.write("in.tns", "1 1 1\n1 2 2\n1 2 3\n1 2 4\n2 1 5\n");

  const IngestReport report = ingest_files({text}, folder / "out.blco", {.chunk_nnz = 2});

  const std::map<Point, double> expected = {{{0, 0}, 1}, {{0, 1}, 9}, {{1, 0}, 5}};
  EXPECT_EQ(as_map(read_container(folder / "out.blco")), expected);
  EXPECT_EQ(report.chunk_count, 2);
}

std::string bytes_after(const TemporaryFolder& folder, const std::filesystem::path& text, IngestOptions options) {
  ingest_files({text}, folder / "out.blco", options);
  return file_contents(folder / "out.blco");
}

TEST(Ingest, GivesTheSameBytesForAnyNumberOfThreads) {
  const TemporaryFolder folder;
  const auto tensor = random_coordinates({.shape = {50, 60, 70}, .nnz = 30000, .seed = 8});
  const auto text = folder.write("in.tns", as_text(tensor));

  const std::string one = bytes_after(folder, text, {.threads = 1, .chunk_nnz = 1000});

  EXPECT_EQ(bytes_after(folder, text, {.threads = 2, .chunk_nnz = 1000}), one);
  EXPECT_EQ(bytes_after(folder, text, {.threads = 5, .chunk_nnz = 1000}), one);
  EXPECT_EQ(bytes_after(folder, text, {.memory_bytes = std::uint64_t{1} << 30, .threads = 3, .chunk_nnz = 1000}), one);
}

TEST(Ingest, CompressionChangesTheSizeAlone) {
  const TemporaryFolder folder;
  const auto tensor = random_coordinates({.shape = {50, 60, 7000}, .nnz = 30000, .seed = 8});
  const auto text = folder.write("in.tns", as_text(tensor));
  std::vector<std::uint64_t> sizes;

  for (const auto& [level, saving] : {std::pair{0, 10}, {3, 10}, {12, 0}}) {
    const IngestReport report =
        ingest_files({text}, folder / "out.blco", {.zstd_level = level, .zstd_saving_percent = saving});
    EXPECT_EQ(as_map(read_container(folder / "out.blco")), summed(tensor));
    sizes.push_back(report.file_bytes);
  }

  EXPECT_LE(sizes[1], sizes[0]);
  EXPECT_LT(sizes[2], sizes[1]);
}

// Small counts, of which zstd saves a quarter, and reals of one size, whose leading bytes are equal.
TEST(Ingest, CompressesByItselfOnlyWhatShrinksToLittleMoreThanHalf) {
  const TemporaryFolder folder;
  auto tensor = random_coordinates({.shape = {50, 60, 7000}, .nnz = 30000, .seed = 8});
  const auto sizes_of = [&](auto value_of) {
    std::mt19937_64 random(5);
    for (double& value : tensor.values) value = value_of(random);
    const auto text = folder.write("in.tns", as_text(tensor));
    const auto file_bytes = [&](const IngestOptions& options) {
      return ingest_files({text}, folder / "out.blco", options).value.stored;
    };
    return std::array{file_bytes({.zstd_level = 0}), file_bytes({}), file_bytes({.zstd_saving_percent = 10})};
  };

  const auto counts =
      sizes_of([](auto& random) { return random() % 5 == 0 ? 1.0 + static_cast<double>(random() % 3) : 1.0; });
  const auto reals =
      sizes_of([](auto& random) { return 1.0 + std::ldexp(static_cast<double>(random() % 1000000), -45); });

  EXPECT_LT(counts[2], counts[0]);
  EXPECT_EQ(counts[1], counts[0]);
  EXPECT_LT(reals[1], reals[0] * 55 / 100);
}

void expect_refused(const TemporaryFolder& folder, const std::string& text, const IngestOptions& options,
                    ErrorKind kind, const std::string& part) {
  const auto input = folder.write("in.tns", text);
  try {
    ingest_files({input}, folder / "out.blco", options);
    FAIL() << "accepted: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_THAT(error.what(), testing::HasSubstr(part));
  }
  const std::filesystem::directory_iterator files(folder.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "something was left behind";
}

TEST(Ingest, RefusesWhatIsNoTensorAndLeavesNothingBehind) {
  const TemporaryFolder folder;

  expect_refused(folder, "", {}, ErrorKind::invalid_argument, "no nonzeros");
  expect_refused(folder, "# only a comment\n", {}, ErrorKind::invalid_argument, "no nonzeros");
  expect_refused(folder, "1 1 0\n2 2 0\n", {}, ErrorKind::invalid_argument, "zero");
  expect_refused(folder, "1 1 1e308\n2 2 1e308\n", {}, ErrorKind::invalid_argument, "scale");
  expect_refused(folder, "1 1 1e308\n1 1 1e308\n", {}, ErrorKind::invalid_argument, "(1, 1)");
  expect_refused(folder, "1 5 1\n1 5 1\n", {.duplicates = DuplicatePolicy::error}, ErrorKind::invalid_argument,
                 "(1, 5)");
  expect_refused(folder, "1 5 1\n", {.shape = {3, 4}}, ErrorKind::invalid_argument, "coordinate 5 in mode 1");
  expect_refused(folder, "1 5 1\n", {.shape = {3, 4, 5}}, ErrorKind::invalid_argument, "2 modes");
  expect_refused(folder, "1 5 1\n", {.mode_names = {"only"}}, ErrorKind::invalid_argument, "`mode_names` has 1 name;");
  expect_refused(folder, "1 5 1\n", {.chunk_nnz = 0}, ErrorKind::invalid_argument, "`chunk_nnz` must be from 1");
  expect_refused(folder, "18446744073709551615 18446744073709551615 2 1\n", {}, ErrorKind::invalid_argument,
                 "129 bits");
}

TEST(Ingest, RefusesASavingOfMoreThanAll) {
  const TemporaryFolder folder;

  expect_refused(folder, "1 1 1\n", {.zstd_saving_percent = 101}, ErrorKind::invalid_argument, "from 0 to 100");
}

TEST(Ingest, SummedEventsEqualTheCountedTensor) {
  const std::filesystem::path data(BLCO_DATA_DIR);
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "no real tensors at " << data;
  const TemporaryFolder folder;

  ingest_files({data / "darpa1998-3d-events.tns.gz"}, folder / "events.blco");
  ingest_files({data / "darpa1998-3d.tns.gz"}, folder / "counted.blco");

  const CoordinateTensor events = read_container(folder / "events.blco");
  const CoordinateTensor counted = read_container(folder / "counted.blco");
  EXPECT_EQ(events.points, counted.points);
  EXPECT_EQ(events.values, counted.values);
  EXPECT_EQ(ContainerReader(folder / "events.blco").info().reading.duplicates, DuplicatePolicy::sum);
  EXPECT_FALSE(ContainerReader(folder / "counted.blco").info().reading.duplicates);
}

TEST(Ingest, GivesAnOpenTensorNoLabelsOfAnotherFile) {
  const TemporaryFolder folder;
  IngestOptions options;
  options.columns.modes = {"user"};
  options.reorder = Reorder::frequency;
  ingest_files({folder.write("in.csv", "user\nann\nbob\nbob\n")}, folder / "t.blco", options);
  const TensorFile tensor(folder / "t.blco");
  const std::vector<Labels> before = tensor.labels();

  ingest_files({folder.write("in.csv", "user\nxim\nyan\n")}, folder / "t.blco", options);

  EXPECT_THROW(tensor.labels(), Error);
  EXPECT_NE(TensorFile(folder / "t.blco").labels(), before);
}

TEST(Ingest, RefusesAnOutputThatIsAnInput) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.write("in.tns", "1 1 2.5\n");
  const IngestOptions held_out{.hold_out = 0.5, .held_out_to = file};

  EXPECT_THROW(ingest_files({file}, file), Error);
  EXPECT_THROW(ingest_files({file}, folder / "out.blco", held_out), Error);

  EXPECT_EQ(file_contents(file), "1 1 2.5\n");
}

// Keys that are labels already are those of an exported table. Others are what they are, and bins are those known.
TEST(Ingest, SaysOfKnownLabelsHowTheyWereRead) {
  const TemporaryFolder folder;
  const auto columns_of = [&](const std::string& rows, const std::vector<std::string>& modes,
                              const std::filesystem::path& labels_from, const std::string& name) {
    IngestOptions options;
    options.columns.modes = modes;
    options.columns.labels_from = labels_from;
    ingest_files({folder.write("in.csv", "when,price\n" + rows)}, folder / name, options);
    return ContainerReader(folder / name).info().reading.columns;
  };
  const std::vector<std::string> known = {"when:month", "price:bins=2"};
  const std::vector<std::string> kept = {"when:month:local", "price:bins=2"};
  ASSERT_EQ(columns_of("2024-01-05,1\n2024-03-07,9\n", known, {}, "known.blco"), kept);

  EXPECT_EQ(columns_of("2024-01,2\n", {"when", "price:bins=2"}, folder / "known.blco", "same.blco"), kept);
  EXPECT_EQ(columns_of("2024-01,2\n", {"when", "price:bins=5"}, folder / "known.blco", "bins.blco"), kept);
  EXPECT_EQ(columns_of("2024-01-05,2\n", {"when", "price:bins=2"}, folder / "known.blco", "days.blco"),
            (std::vector<std::string>{"when", "price:bins=2"}));
}

}  // namespace
}  // namespace blco
