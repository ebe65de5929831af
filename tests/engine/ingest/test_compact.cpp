// Modes of which few indices occur: what becomes of them, and of their labels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/ingest.hpp>
#include <blco/memory_tensor.hpp>
#include <blco/tensor_file.hpp>
#include <set>

#include "blco/error.hpp"
#include "tests/engine/coordinate_tensor.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

std::vector<std::string> list_of(const Labels& labels) {
  std::vector<std::string> list;
  for (std::uint64_t i = 0; i < labels.size(); ++i) list.emplace_back(labels[i]);
  return list;
}

// The cells of a container whose labels are numbers counted from `base`, under these numbers.
std::map<Point, double> under_labels(const TensorFile& tensor, const std::filesystem::path& file, std::uint64_t base) {
  const std::vector<Labels> labels = tensor.labels();
  std::map<Point, double> cells;
  for (const auto& [point, value] : as_map(read_container(file))) {
    Point original = point;
    for (std::size_t n = 0; n < point.size(); ++n) {
      if (n < labels.size() && !labels[n].empty()) original[n] = std::stoull(std::string(labels[n][point[n]])) - base;
    }
    cells[original] = value;
  }
  return cells;
}

class Compact : public testing::Test {
 protected:
  std::string refusal(const std::string& text, const IngestOptions& options) {
    try {
      ingest_files({folder_.write("in.tns", text)}, folder_ / "out.blco", options);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      return error.what();
    }
    return "accepted";
  }

  TemporaryFolder folder_;
};

TEST_F(Compact, ModesAreAsLongAsTheyHaveIndicesWhichKeepTheirOrderAndTheirNumbers) {
  const auto text = folder_.write("in.tns", "98000001 3 1.5\n7 1 2\n5000000000 2 3\n7 3 4\n");

  const IngestReport report = ingest_files({text}, folder_ / "out.blco", {.compact = true});

  EXPECT_THAT(report.shape, testing::ElementsAre(3, 3));
  const std::map<Point, double> expected = {{{0, 0}, 2}, {{0, 2}, 4}, {{1, 2}, 1.5}, {{2, 1}, 3}};
  EXPECT_EQ(as_map(read_container(folder_ / "out.blco")), expected);
  const std::vector<Labels> labels = TensorFile(folder_ / "out.blco").labels();
  EXPECT_THAT(list_of(labels[0]), testing::ElementsAre("7", "98000001", "5000000000"));
  EXPECT_TRUE(labels[1].empty());
  ASSERT_EQ(report.compacted_modes.size(), 1);
  EXPECT_EQ(report.compacted_modes[0].indices, 3);
  EXPECT_EQ(report.compacted_modes[0].original, 5000000000u);
}

// With temporary files, reordered, by several threads, and in memory.
TEST_F(Compact, EveryWayGivesTheSameCells) {
  const CoordinateTensor tensor =
      random_coordinates({.shape = {1'000'000, std::uint64_t{1} << 40, 3}, .nnz = 20'000, .seed = 5});
  const auto text = folder_.write("in.tns", as_text(tensor));
  std::vector<std::set<std::uint64_t>> occurring(3);
  for (const Point& point : tensor.points) {
    for (std::size_t n = 0; n < 3; ++n) occurring[n].insert(point[n]);
  }
  const std::vector<IngestOptions> ways{{.threads = 1},
                                        {.threads = 3},
                                        {.memory_bytes = std::uint64_t{24} << 20, .chunk_nnz = 1024},
                                        {.reorder = Reorder::frequency}};
  for (IngestOptions options : ways) {
    options.compact = true;

    const IngestReport report = ingest_files({text}, folder_ / "out.blco", options);

    for (std::size_t n = 0; n < 3; ++n) EXPECT_EQ(report.shape[n], occurring[n].size());
    const TensorFile file(folder_ / "out.blco");
    if (options.reorder == Reorder::none) {
      EXPECT_EQ(under_labels(file, folder_ / "out.blco", 1), summed(tensor));
    }
    EXPECT_EQ(list_of(file.labels()[0]).front(), std::to_string(*occurring[0].begin() + 1));
    EXPECT_EQ(list_of(file.labels()[0]).back(), std::to_string(*occurring[0].rbegin() + 1));
  }
}

TEST_F(Compact, ArraysCountFromZeroAndKeepTheLabelsOfWhatIsLeft) {
  const std::vector<std::uint64_t> rows{4, 0, 4};
  const std::vector<std::uint64_t> columns{1, 2, 2};
  const std::vector<std::string> names{"a", "b", "c", "d", "e"};
  CoordinateArrays arrays{.coordinates = {rows, columns}};

  const MemoryTensor plain(arrays, {.compact = true});
  arrays.labels = {Labels(names), {}};
  const MemoryTensor labelled(arrays, {.compact = true});
  ingest_coordinates(arrays, folder_ / "out.blco", {.compact = true});

  EXPECT_THAT(plain.shape(), testing::ElementsAre(2, 2));
  EXPECT_THAT(list_of(plain.labels()[0]), testing::ElementsAre("0", "4"));
  EXPECT_THAT(list_of(plain.labels()[1]), testing::ElementsAre("1", "2"));
  EXPECT_THAT(list_of(labelled.labels()[0]), testing::ElementsAre("a", "e"));
  EXPECT_EQ(TensorFile(folder_ / "out.blco").labels(), labelled.labels());
}

TEST_F(Compact, AHeadersShapeHoldsForTheOriginalIndices) {
  const std::string header = "%%MatrixMarket matrix coordinate real general\n9 4 2\n";

  ingest_files({folder_.write("in.mtx", header + "9 1 1\n2 4 1\n")}, folder_ / "out.blco", {.compact = true});

  const TensorFile tensor(folder_ / "out.blco");
  EXPECT_THAT(tensor.shape(), testing::ElementsAre(2, 2));
  EXPECT_THAT(list_of(tensor.labels()[1]), testing::ElementsAre("1", "4"));
}

TEST_F(Compact, DoesNotGoWithAShape) {
  EXPECT_EQ(refusal("1 1 1\n", {.shape = {5, 5}, .compact = true}),
            "`compact` gives modes lengths and numbers of its own; leave out `shape`");
}

TEST_F(Compact, TheIndicesThatOccurMustFitTheMemory) {
  CoordinateTensor tensor = random_coordinates({.shape = {std::uint64_t{1} << 60, 7}, .nnz = 300'000, .seed = 6});
  const auto text = folder_.write("in.tns", as_text(tensor));
  try {
    ingest_files({text}, folder_ / "out.blco",
                 {.memory_bytes = std::uint64_t{16} << 20, .threads = 1, .chunk_nnz = 1024, .compact = true});
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::out_of_memory);
    EXPECT_THAT(error.what(), testing::HasSubstr("the indices that have entries take more than"));
  }
}

}  // namespace
}  // namespace blco
