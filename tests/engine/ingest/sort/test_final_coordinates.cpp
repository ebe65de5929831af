// Modes whose coordinates are known only at the end: the container is that of a table that has their labels as keys, in
// memory and beyond it, reordered or not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/ingest.hpp>
#include <blco/tensor_file.hpp>
#include <random>
#include <tuple>

#include "engine/ingest/sort/reordering.hpp"
#include "tests/engine/coordinate_tensor.hpp"
#include "tests/engine/ingest/sort/thrust_runs.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/thread_executor.hpp"

namespace blco {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int january = 19723;  // its first day in 2024, since 1970

std::string day_in_january(std::uint64_t day) {
  return std::string("2024-01-") + (day < 9 ? "0" : "") + std::to_string(day + 1);
}

// Of prices from 0 to 99 in bins of 10.
std::string price_bin(std::uint64_t price) {
  const std::uint64_t bin = price * 10 / 99 - (price == 99 ? 1 : 0);
  const auto edge = [](std::uint64_t i) {
    return i == 0 ? std::string("0") : i == 10 ? "99" : std::to_string(99 * i / 10) + "." + std::to_string(99 * i % 10);
  };
  return "\"[" + edge(bin) + ", " + edge(bin + 1) + (bin == 9 ? "]\"" : ")\"");
}

class FinalModes : public testing::Test {
 protected:
  // The same rows twice: as times and numbers, and as the labels that these become; and a table of all labels in order.
  void write_tables(int rows) {
    std::mt19937_64 random(20);
    std::string raw = "user,when,price,count\n";
    std::string labelled = "user,when,price,count\n";
    std::string all = "user,when,price,count\n";
    for (int i = 0; i < rows; ++i) {
      const std::uint64_t day = i < 31 ? static_cast<std::uint64_t>((i * 7) % 31) : random() % 31;
      const std::uint64_t price = i == 5 ? 0 : i == 9 ? 99 : random() % 100;
      const std::string user = std::to_string(random() % 3000);
      const std::string count = "," + std::to_string(random() % 8) + ".5\n";
      raw +=
          user + "," + std::to_string((january + day) * 86400 + random() % 86400) + "," + std::to_string(price) + count;
      labelled += user + "," + day_in_january(day) + "," + price_bin(price) + count;
    }
    for (std::uint64_t i = 0; i < 100; ++i) {
      all += "x," + day_in_january(std::min<std::uint64_t>(i, 30)) + "," + price_bin(i) + ",1\n";
    }
    raw_ = folder_.write("raw.csv", raw);
    labelled_ = folder_.write("labelled.csv", labelled);
    ingest_files({folder_.write("all.csv", all)}, folder_ / "all.blco", {.columns = {{"when", "price"}, "count"}});
  }

  std::string container(const std::filesystem::path& input, IngestOptions options) const {
    ingest_files({input}, folder_ / "out.blco", options);
    return file_contents(folder_ / "out.blco");
  }

  // Everything but how the input was read.
  auto tensor(const std::filesystem::path& input, const IngestOptions& options) const {
    ingest_files({input}, folder_ / "out.blco", options);
    const ContainerReader reader(folder_ / "out.blco");
    std::vector<std::vector<std::uint32_t>> reorderings;
    for (const ReorderedMode& mode : reader.info().reordered) reorderings.push_back(reader.reordering(mode.mode));
    CoordinateTensor entries = read_container(folder_ / "out.blco");
    return std::tuple(entries.shape, entries.points, entries.values, reader.labels(), reorderings);
  }

  IngestOptions expected_options(IngestOptions options) const {
    options.columns = {{"when", "price"}, "count"};
    options.columns.labels_from = folder_ / "all.blco";
    return options;
  }

  static IngestOptions computed_options(IngestOptions options) {
    options.columns = {{"when:day", "price:bins=10"}, "count"};
    return options;
  }

  TemporaryFolder folder_;
  std::filesystem::path raw_;
  std::filesystem::path labelled_;
};

TEST_F(FinalModes, GiveTheContainerOfTheirLabels) {
  write_tables(3000);
  for (const Reorder reorder : {Reorder::none, Reorder::frequency}) {
    const IngestOptions options{.threads = 2, .reorder = reorder, .chunk_nnz = 1000};

    EXPECT_TRUE(tensor(raw_, computed_options(options)) == tensor(labelled_, expected_options(options)));
  }
}

TEST_F(FinalModes, AreTheSameOutOfMemory) {
  write_tables(150'000);
  for (const Reorder reorder : {Reorder::none, Reorder::frequency}) {
    IngestOptions options{.threads = 1, .reorder = reorder, .chunk_nnz = 8192};
    options.columns = {{"user", "when:day", "price:bins=10"}, "count"};
    const std::string expected = container(raw_, options);
    bool spilled = false;
    options.memory_bytes = 8 << 20;
    options.temporary_directory = folder_ / "tmp";
    std::filesystem::create_directory(options.temporary_directory);

    ingest_files({raw_}, folder_ / "small.blco", options, [&](const Progress&) {
      spilled = spilled || !std::filesystem::is_empty(options.temporary_directory);
      return true;
    });

    EXPECT_TRUE(spilled);
    EXPECT_TRUE(file_contents(folder_ / "small.blco") == expected);
  }
}

TEST_F(FinalModes, AreTheSameOnADevice) {
#ifndef BLCO_HAS_THRUST
  GTEST_SKIP() << "Thrust, which comes with a CUDA toolkit, was not found";
#endif
  write_tables(3000);
  IngestOptions options = computed_options({.threads = 2});
  const std::string expected = container(raw_, options);
  options.sorts_on_gpu = true;

  EXPECT_TRUE(container(raw_, options) == expected);
}

TEST_F(FinalModes, NameLabelsInMessages) {
  const auto input = folder_.write("t.csv", "when,price\n2024-01-09,1\n2024-01-03T10,5\n2024-01-03T11,6\n");
  IngestOptions options;
  options.columns.modes = {"when:day", "price:bins=2"};
  options.duplicates = DuplicatePolicy::error;
  for (const Reorder reorder : {Reorder::none, Reorder::frequency}) {
    options.reorder = reorder;
    try {
      ingest_files({input}, folder_ / "out.blco", options);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("the coordinates ('2024-01-03', '[3.5, 6]') occur more than once"));
    }
  }
}

TEST_F(FinalModes, CountLabelsWithoutRowsInTheShape) {
  const auto input = folder_.write("t.csv", "when,price\n2024-01-09,1\n2024-01-03,5\n");
  IngestOptions options;
  options.columns.modes = {"when:day:every", "price:bins=20", "when:weekday"};

  const IngestReport report = ingest_files({input}, folder_ / "out.blco", options);
  const TensorFile file(folder_ / "out.blco");

  EXPECT_THAT(report.shape, ElementsAre(7, 20, 2));
  EXPECT_EQ(file.labels()[0][6], "2024-01-09");
  EXPECT_THAT(file.summary().mode_names, ElementsAre("when:day", "price", "when:weekday"));
}

TEST_F(FinalModes, AreReportedWhereTheyAreCrowdedOrFewer) {
  std::string text = "when,user,price\n";
  for (int i = 0; i < 1000; ++i) {
    text += std::to_string(1'700'000'000 + 60 * i) + ",u" + std::to_string(i / 2) + ",7\n";
  }
  const auto input = folder_.write("t.csv", text);
  const auto less = folder_.write("less.csv", text.substr(0, text.rfind("1700")));
  IngestOptions options;
  options.columns.modes = {"when:minute", "user", "price:bins=5", "when:day"};

  const IngestReport report = ingest_files({input}, folder_ / "out.blco", options);

  ASSERT_THAT(report.crowded_modes, SizeIs(1));  // 500 users are half of the rows, and not more
  EXPECT_EQ(report.crowded_modes[0].mode, 0u);
  EXPECT_EQ(report.crowded_modes[0].keys, 1000u);
  ASSERT_THAT(report.fewer_bins, SizeIs(1));
  EXPECT_EQ(report.fewer_bins[0].mode, 2u);
  EXPECT_EQ(report.fewer_bins[0].wanted, 5u);
  EXPECT_EQ(report.fewer_bins[0].made, 1u);
  EXPECT_THAT(ingest_files({less}, folder_ / "less.blco", options).crowded_modes, SizeIs(0));
  options.columns.labels_from = folder_ / "out.blco";
  EXPECT_THAT(ingest_files({input}, folder_ / "again.blco", options).crowded_modes, SizeIs(0));
}

// Most of the labels belong to minutes that no row has, so they take memory only at the end.
TEST_F(FinalModes, MakeRoomForLabelsWithoutRows) {
  write_tables(100'000);
  IngestOptions options{.threads = 1, .chunk_nnz = 8192};
  options.columns = {{"user", "when:minute:every"}, "count"};
  const std::string expected = container(raw_, options);
  options.memory_bytes = 12 << 20;

  EXPECT_TRUE(container(raw_, options) == expected);
}

TEST(FinalCoordinates, MoveTheCountsOfReordering) {
  ThreadExecutor executor(1);
  Reordering reordering;
  CoordinateBatch batch;
  batch.order = 2;
  for (const std::uint32_t coordinate : {0u, 0u, 1u, 0u, 2u, 1u, 3u, 1u, 2u, 1u}) batch.narrow.push_back(coordinate);
  batch.values.resize(5);
  batch.upper = {3, 1};
  // Rows 0, 1 and 3 become the last one, which then has most entries.
  const FinalCoordinates final_ones({{2, 2, 0, 2}, {}});

  reordering.count(batch, executor);
  reordering.take_final(final_ones);
  reordering.finish(std::vector<std::uint64_t>{3, 2});
  final_ones.apply(batch);
  reordering.apply(batch);

  EXPECT_THAT(batch.narrow, ElementsAre(0, 1, 0, 1, 1, 0, 0, 0, 1, 0));
  EXPECT_THAT(reordering.take_originals(0), ElementsAre(2, 0, 1));
}

}  // namespace
}  // namespace blco
