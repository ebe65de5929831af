// Where entries of coordinate text come from, and lines of a given order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/io/text/read_tns.hpp"

namespace blco {
namespace {

std::vector<std::string> read_places(const std::filesystem::path& file, const TnsOptions& options) {
  ThreadExecutor executor(2);
  const auto reader = open_tns({file}, options, executor);
  std::vector<std::string> found;
  CoordinateBatch batch;
  while (reader->next(batch)) {
    for (std::size_t i = 0; i < batch.count(); ++i) found.push_back(reader->place_of(i));
  }
  return found;
}

class TnsPlaces : public TnsText {
 protected:
  std::vector<std::string> lines(const std::vector<int>& numbers) const {
    std::vector<std::string> expected;
    for (const int number : numbers) expected.push_back(place(number));
    return expected;
  }
};

TEST_F(TnsPlaces, AreLinesWithCommentsAndBlankOnesCounted) {
  const auto file = folder_.write("a.tns", "skipped\n1 1 5\n# 2 2 2\n\n \t\r\n2 2 5\r\n  3 3 5\n");

  EXPECT_EQ(read_places(file, {.skip_lines = 1}), lines({2, 6, 7}));
}

TEST_F(TnsPlaces, AreLinesInEveryBlock) {
  std::string text;
  std::vector<int> expected;
  for (int i = 0, line = 0; i < 900; ++i) {
    if (i % 5 == 2) text += "#\n";
    line += i % 5 == 2 ? 2 : 1;
    text += std::to_string(i + 1) + " 1 2\n";
    expected.push_back(line);
  }
  const auto file = folder_.write("a.tns", text);

  EXPECT_EQ(read_places(file, {.block_bytes = 50}), lines(expected));
}

TEST_F(TnsPlaces, ALineOfASymmetricMatrixHasTwoEntries) {
  const auto file =
      folder_.write("a.tns", "%%MatrixMarket matrix coordinate pattern symmetric\n% x\n3 3 3\n1 1\n3 1\r\n3 3\n");

  EXPECT_EQ(read_places(file, {}), lines({4, 5, 5, 6}));
}

TEST_F(TnsText, LinesMayHoldCoordinatesAlone) {
  const TnsOptions bare{.order = 3, .order_from = "an entry of m.h5", .has_values = false};

  const Entries entries = read("1 2 3\n4 5 6\n", bare);

  EXPECT_THAT(entries.coordinates, testing::ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(entries.values, testing::ElementsAre(1, 1));
  EXPECT_EQ(refused("1 2 3\n4 5 6 7\n", bare),
            place(2) +
                ": 4 fields, but an entry of m.h5 has 3; every line must have the same number of coordinates, "
                "and no value");
  EXPECT_EQ(refused("1 2 3\n", {.order = 3, .order_from = "an entry of m.h5"}),
            place(1) +
                ": 3 fields, but an entry of m.h5 has 4; every line must have the same number of coordinates, "
                "then a value");
}

TEST_F(TnsText, AFirstLineThatMayBeAShapeIsNoted) {
  const std::string note =
      " has the largest coordinate of each mode, and the number of the other entries as its value; if it is a header, "
      "leave it out with `skip_lines = ";
  const std::string entries = "1 1 1 5\n\n4 3 2 6\n2 2 1 7\n";
  TnsOptions small_blocks;
  small_blocks.block_bytes = 8;
  const auto second = folder_.write("b.tns", "# b\n2 2 1\n2 1 1\n");

  for (const TnsOptions& options : {TnsOptions{}, small_blocks, TnsOptions{.index_base = 0}}) {
    EXPECT_THAT(read("4 3 2 3\n" + entries, options).notes,
                testing::ElementsAre(place(1) + note + "1`, and give `shape`"));
  }
  EXPECT_THAT(read("# from R\n9 9 9 3\n" + entries).notes,
              testing::ElementsAre(place(2) + note + "2`, and give `shape`"));
  EXPECT_THAT(read("4 3 2 4\n" + entries).notes, testing::IsEmpty());
  EXPECT_THAT(read("4 2 2 3\n" + entries).notes, testing::IsEmpty());
  EXPECT_THAT(read("1 1 1 5\n4 3 2 6\n").notes, testing::IsEmpty());
  EXPECT_THAT(read("4 3 2 3\n" + entries, {.skip_lines = 1}).notes, testing::IsEmpty());
  EXPECT_THAT(read("3\n4 3 2\n4 3 2 1\n1 1 1 1\n").notes, testing::IsEmpty());
  EXPECT_THAT(read_all({folder_.write("a.tns", "5 5 2\n1 1 3\n5 4 1\n"), second}).notes,
              testing::ElementsAre(place(1) + " (the first of 2 such files)" + note + "1`, and give `shape`"));
}

TEST_F(TnsText, AFirstLineThatMayBeAShapeIsNamedWhereTheNextHasAnotherLength) {
  const std::string remedy = "; if " + place(1) + " is a shape, give `skip_lines = 1`";

  EXPECT_THAT(refused("5 5 2\n1 1 1 3\n"), testing::EndsWith("then a value" + remedy));
  EXPECT_THAT(refused("5 5 2\n1 1 1 3\n", {.block_bytes = 1}), testing::EndsWith("then a value" + remedy));
  EXPECT_THAT(refused("5 5 2 1\n1 1 3\n"), testing::EndsWith("then a value" + remedy));
  EXPECT_THAT(refused("5 5 2.5\n1 1 1 3\n"), testing::EndsWith("then a value"));
  EXPECT_THAT(refused("5 5 2\n1 1 1\n1 1 1 3\n"), testing::EndsWith("then a value"));
}

}  // namespace
}  // namespace blco
