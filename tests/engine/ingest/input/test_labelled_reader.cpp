// Labels for the modes of coordinates: lengths, names of modes, budgets, and arrays in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/ingest.hpp>
#include <blco/tensor_file.hpp>

#include "tests/io/expect_error.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LabelledModes : public testing::Test {
 protected:
  IngestReport ingest(const std::vector<LabelSource>& labels, IngestOptions options = {}) {
    options.label_files = labels;
    return ingest_files({text_}, folder_ / "t.blco", options);
  }
  std::string refused(const std::vector<LabelSource>& labels, const IngestOptions& options = {}) {
    std::string message = message_of_error(ErrorKind::invalid_argument, [&] { ingest(labels, options); });
    EXPECT_FALSE(std::filesystem::exists(folder_ / "t.blco"));
    return message;
  }
  std::vector<std::string> labels_of(std::size_t mode) {
    std::vector<std::string> list;
    const std::vector<Labels> labels = TensorFile(folder_ / "t.blco").labels();
    for (std::uint64_t i = 0; mode < labels.size() && i < labels[mode].size(); ++i) list.emplace_back(labels[mode][i]);
    return list;
  }

  TemporaryFolder folder_;
  std::filesystem::path text_ = folder_.write("t.tns", "1 1 2\n3 2 5\n");
  std::filesystem::path three_ = folder_.write("three.map", "a\nb\nc\n");
  std::filesystem::path two_ = folder_.write("two.map", "x\ny\n");
};

TEST_F(LabelledModes, AreNamedOrNumbered) {
  ingest({{"item", two_}, {"0", three_}}, {.mode_names = {"user", "item"}});
  EXPECT_THAT(labels_of(0), ElementsAre("a", "b", "c"));
  EXPECT_THAT(labels_of(1), ElementsAre("x", "y"));

  ingest({{"mode1", two_}});
  EXPECT_THAT(labels_of(0), IsEmpty());
  EXPECT_THAT(labels_of(1), ElementsAre("x", "y"));

  // A name goes before a number.
  ingest({{"0", two_}}, {.mode_names = {"1", "0"}});
  EXPECT_THAT(labels_of(1), ElementsAre("x", "y"));
}

TEST_F(LabelledModes, BecomeAsLongAsTheyHaveLabels) {
  const IngestReport report = ingest({{"1", folder_.write("long.map", "p\nq\nr\nq\np\n")}});

  EXPECT_THAT(report.shape, ElementsAre(3, 5));
  EXPECT_THAT(labels_of(1), ElementsAre("p", "q", "r", "q", "p"));
  ASSERT_EQ(report.labels.size(), 1u);
  EXPECT_EQ(report.labels[0].mode, 1u);
  EXPECT_EQ(report.labels[0].labels, 5u);
  EXPECT_EQ(report.labels[0].repeated, 2u);
}

TEST_F(LabelledModes, HaveTheLengthThatIsDeclared) {
  EXPECT_THAT(refused({{"0", two_}}), HasSubstr("two.map has 2 labels, but mode 0 of "));
  EXPECT_THAT(refused({{"user", three_}}, {.shape = {4, 2}, .mode_names = {"user", "item"}}),
              HasSubstr("three.map has 3 labels, but `shape` declares 4 indices of mode 'user'"));
  EXPECT_THAT(refused({{"1", three_}}, {.shape = {3, 2}}), HasSubstr("but `shape` declares 2 indices of mode 1"));
  text_ = folder_.write("header.tns", "sptensor\n2\n4 2\n2\n1 1 2\n3 2 5\n");
  EXPECT_THAT(refused({{"0", three_}}), HasSubstr("header.tns declares 4 indices of mode 0"));
  ingest({{"1", two_}});
  EXPECT_THAT(labels_of(1), ElementsAre("x", "y"));
}

TEST_F(LabelledModes, AreRefusedWhereThereIsNoSuchMode) {
  EXPECT_THAT(refused({{"2", two_}}), HasSubstr("names mode 2, but "));
  EXPECT_THAT(refused({{"2", two_}}, {.shape = {3, 2}}), HasSubstr("has 2 modes, counted from 0"));
  EXPECT_THAT(refused({{"word", two_}}), HasSubstr("unless `mode_names` names them"));
  EXPECT_THAT(refused({{"word", two_}}, {.mode_names = {"user", "item"}}), HasSubstr("the modes are user, item"));
  EXPECT_THAT(refused({{"2", two_}}, {.mode_names = {"user", "item"}}), HasSubstr("the modes are user, item"));
  EXPECT_THAT(refused({{"0", three_}, {"mode0", three_}}), HasSubstr("two files for mode 0"));
}

TEST_F(LabelledModes, AreCountedInTheBudget) {
  std::string lines;
  for (int i = 0; i < 500'000; ++i) lines += std::to_string(i) + '\n';
  const auto many = folder_.write("many.map", lines);

  const std::string message = message_of_error(ErrorKind::out_of_memory, [&] {
    ingest({{"0", many}, {"1", two_}}, {.memory_bytes = 12 << 20});
  });
  const std::uint64_t bytes = 500'000 * 8 + lines.size() - 500'000 + 2 * 9;

  EXPECT_THAT(message, HasSubstr("`memory_bytes = " + std::to_string((2 * bytes + 1023) / 1024) + "KiB`"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "t.blco"));
  EXPECT_EQ(ingest({{"0", many}, {"1", two_}}, {.memory_bytes = 64 << 20}).shape[0], 500'000u);
}

TEST_F(LabelledModes, MayComeFromArrays) {
  const std::vector<std::uint32_t> user{0, 2};
  const std::vector<std::uint64_t> item{0, 1};
  const auto ingest_arrays = [&](const std::filesystem::path& labels) {
    return ingest_coordinates({{user, item}, {}}, folder_ / "t.blco", {.label_files = {{"1", labels}}});
  };

  const IngestReport report = ingest_arrays(three_);

  EXPECT_THAT(report.shape, ElementsAre(3, 3));
  EXPECT_THAT(labels_of(1), ElementsAre("a", "b", "c"));
  std::filesystem::remove(folder_ / "t.blco");
  expect_error(ErrorKind::invalid_argument, "has 1 label, but mode 1 of the coordinate arrays has 2 indices",
               [&] { ingest_arrays(folder_.write("one.map", "a\n")); });
}

TEST_F(LabelledModes, AreNotThoseOfATable) {
  text_ = folder_.write("t.csv", "user,item\nann,x\n");

  EXPECT_THAT(refused({{"0", two_}}, {.columns = {.modes = {"user", "item"}}}),
              HasSubstr("`label_files` does not apply to CSV input"));
}

TEST_F(LabelledModes, NameTheKeysOfATableThatFollows) {
  ingest({{"0", three_}, {"1", two_}}, {.mode_names = {"user", "item"}});
  std::filesystem::rename(folder_ / "t.blco", folder_ / "known.blco");
  text_ = folder_.write("t.csv", "user,item\nnew,y\nc,x\n");
  const IngestOptions options{.columns = {.modes = {"user", "item"}, .labels_from = folder_ / "known.blco"}};

  ingest({}, options);
  EXPECT_THAT(labels_of(0), ElementsAre("a", "b", "c", "new"));
  EXPECT_THAT(labels_of(1), ElementsAre("x", "y"));

  std::filesystem::remove(folder_ / "t.blco");
  text_ = folder_.write("t.tns", "1 1 2\n3 2 5\n");
  ingest({{"0", folder_.write("twice.map", "a\nb\na\n")}}, {.mode_names = {"user", "item"}});
  std::filesystem::rename(folder_ / "t.blco", folder_ / "known.blco");
  text_ = folder_ / "t.csv";
  EXPECT_THAT(refused({}, options), HasSubstr("has no labels of the mode 'item'"));
  EXPECT_THAT(refused({}, {.columns = {.modes = {"user"}, .labels_from = folder_ / "known.blco"}}),
              HasSubstr("two indices of the mode 'user' of `columns.labels_from` have the label 'a'"));
}

}  // namespace
}  // namespace blco
