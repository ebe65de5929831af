// Headers of other programs: what they say, and what follows them.
#include <string>
#include <vector>

#include "io/text/text_preamble.hpp"
#include "tests/io/text/compress_text.hpp"
#include "tests/io/text/read_tns.hpp"

namespace blco {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class TextHeader : public TnsText {
 protected:
  static std::string fault_of(const std::string& text) {
    return message_of_error(ErrorKind::invalid_argument, [&] { find_preamble(text, true, "m.mtx"); });
  }
};

TEST_F(TextHeader, OfGenTenAndPartiIsTakenAway) {
  for (const char* header : {"sptensor\n3\n4 5 6\n2\n", "3\n4 5 6\n", "3\r\n4\t5  6 \r\n"}) {
    const Entries entries = read(std::string(header) + "1 2 3 1.5\n4 5 6 2\n");
    EXPECT_EQ(entries.order, 3) << header;
    EXPECT_THAT(entries.coordinates, ElementsAre(0, 1, 2, 3, 4, 5)) << header;
    EXPECT_THAT(entries.values, ElementsAre(1.5, 2)) << header;
    EXPECT_THAT(entries.declared_shape, ElementsAre(4, 5, 6)) << header;
  }
}

TEST_F(TextHeader, IsFoundInCompressedText) {
  const auto file = folder_.write("a.tns.gz", gzip_text("2\n7 8\n7 8 9\n"));
  const Entries entries = read_all({file}, {}, 1);
  EXPECT_THAT(entries.declared_shape, ElementsAre(7, 8));
  EXPECT_THAT(entries.values, ElementsAre(9));
}

TEST_F(TextHeader, OfExtendedFrosttIsTakenAway) {
  for (const char* header : {"# extended FROSTT format\n3 2\n8 8 9\n", "3 2\n8 8 9\n", "#\n\n3 2\r\n8 8 9 \r\n# x\n"}) {
    const Entries entries = read(std::string(header) + "1 2 3 1.5\n4 5 6 2\n");
    EXPECT_THAT(entries.coordinates, ElementsAre(0, 1, 2, 3, 4, 5)) << header;
    EXPECT_THAT(entries.declared_shape, ElementsAre(8, 8, 9)) << header;
  }
  EXPECT_THAT(read("2 1\n8 8\n1 2 3\n").declared_shape, ElementsAre(8, 8));
  EXPECT_THAT(refused("3 3\n8 8 9\n1 2 3 1.5\n4 5 6 2\n"), HasSubstr("declares 3 entries"));
}

TEST_F(TextHeader, IsNotSeenInFrosttText) {
  for (const char* text : {"2 2\n8 8\n", "2 2\n8 8\n1 2\n", "# 2 3\n2 3\n", "4 5 6\n1 2 3\n", "# 3\n4 5 6\n1 2 3\n",
                           "3 \t1\n", "\n\n1 1 1\n"}) {
    EXPECT_TRUE(read(text).declared_shape.empty()) << text;
  }
}

TEST_F(TextHeader, IsNotSkippedTwice) {
  const auto file = folder_.write("a.tns", "2\n7 8\n7 8 9\n");
  const Entries entries = read_all({file}, {.skip_lines = 2}, 1);
  EXPECT_TRUE(entries.declared_shape.empty());
  EXPECT_THAT(entries.coordinates, ElementsAre(6, 7));
}

TEST_F(TextHeader, OfMatrixMarketSaysWhatFollows) {
  const std::string comments = "% a comment\n%\n\n";
  const Entries general =
      read("%%MatrixMarket matrix coordinate real general\n" + comments + "4 5 2\n1 2 1.5\n4 5 -2e3\n");
  EXPECT_THAT(general.declared_shape, ElementsAre(4, 5));
  EXPECT_THAT(general.coordinates, ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(general.values, ElementsAre(1.5, -2000));

  const Entries pattern = read("%%MatrixMarket MATRIX Coordinate pattern general\n4 5 3\n1 2\n4 5 \r\n3 1\n");
  EXPECT_THAT(pattern.coordinates, ElementsAre(0, 1, 3, 4, 2, 0));
  EXPECT_THAT(pattern.values, ElementsAre(1, 1, 1));

  const Entries symmetric = read("%%MatrixMarket matrix coordinate integer symmetric\n9 9 2\n3 3 7\n8 2 5\n");
  EXPECT_THAT(symmetric.coordinates, ElementsAre(2, 2, 7, 1, 1, 7));
  EXPECT_THAT(symmetric.values, ElementsAre(7, 5, 5));

  for (const char* kind : {"double", "unsigned-integer"}) {
    EXPECT_THAT(read("%%MatrixMarket matrix coordinate " + std::string(kind) + " general\n3 3 1\n1 2 3\n").values,
                ElementsAre(3));
  }
  // TACO's .ttx.
  const Entries tensor = read("%%MatrixMarket tensor coordinate real general\n%\n3 4 5 2\n1 2 3 1.5\n3 4 5 2\n");
  EXPECT_THAT(tensor.declared_shape, ElementsAre(3, 4, 5));
  EXPECT_THAT(tensor.values, ElementsAre(1.5, 2));

  const Entries skew = read("%%MatrixMarket matrix coordinate real skew-symmetric\n9 9 1\n8 2 5\n");
  EXPECT_THAT(skew.coordinates, ElementsAre(7, 1, 1, 7));
  EXPECT_THAT(skew.values, ElementsAre(5, -5));
}

TEST_F(TextHeader, OfMatrixMarketIsRefusedWhereItIsNoSparseRealMatrix) {
  EXPECT_THAT(fault_of("%%MatrixMarket matrix array real general\n2 2\n"),
              AllOf(HasSubstr("line 1 of m.mtx"), HasSubstr("coordinate")));
  EXPECT_THAT(fault_of("%%MatrixMarket matrix coordinate complex general\n2 2 1\n"), HasSubstr("complex"));
  EXPECT_THAT(fault_of("%%MatrixMarket tensor coordinate real symmetric\n2 2 2 1\n"), HasSubstr("symmetric"));
  EXPECT_THAT(fault_of("%%MatrixMarket matrix coordinate real hermitian\n2 2 1\n"), HasSubstr("symmetry"));
  EXPECT_THAT(fault_of("%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n"), HasSubstr("line 2 of m.mtx"));
  EXPECT_THAT(fault_of("%%MatrixMarket matrix coordinate real general\n% only\n"),
              HasSubstr("rows, columns and entries"));
}

TEST_F(TextHeader, IsHeldToWhatFollows) {
  EXPECT_THAT(refused("sptensor\n2\n4 5\n3\n1 2 3\n4 5 6\n"), AllOf(HasSubstr("declares 3"), HasSubstr("2 follow")));
  EXPECT_THAT(refused("3\n4 5 6\n1 2 3 1\n1 2 3\n"),
              AllOf(HasSubstr("line 4 of"), HasSubstr("3 fields"), HasSubstr("the header")));
  EXPECT_THAT(refused("%%MatrixMarket matrix coordinate pattern general\n4 5 1\n1 2 3\n"),
              AllOf(HasSubstr("line 3 of"), HasSubstr("no value")));
}

TEST_F(TextHeader, IsThatOfEveryFileOrOfNone) {
  const auto first = folder_.write("a.tns", "2\n7 8\n7 8 9\n");
  const auto same = folder_.write("b.tns", "sptensor\n2\n7 8\n1\n1 1 1\n");
  const auto other = folder_.write("c.tns", "2\n7 9\n7 8 9\n");
  EXPECT_THAT(read_all({first, same}, {}, 2).values, ElementsAre(9, 1));
  EXPECT_THAT(refusal({first, other}, {}, 2), AllOf(HasSubstr("c.tns"), HasSubstr("a.tns")));
}

// However little of it is there, a header is not taken for something else.
TEST_F(TextHeader, WaitsForMoreText) {
  for (const std::string whole :
       {"sptensor\n3\n4 5 6\n2\n1 2 3 1\n", "3\n4 5 6\n1 2 3 1\n", "# x\n3 1\n4 5 6\n1 2 3 1\n",
        "%%MatrixMarket matrix coordinate real general\n% x\n4 5 1\n1 2 3\n"}) {
    const auto expected = find_preamble(whole, true, "x");
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const auto found = find_preamble(std::string_view(whole).substr(0, size), false, "x");
      if (!found) continue;
      EXPECT_EQ(found->format, expected->format) << whole << size;
      EXPECT_EQ(found->bytes, expected->bytes) << whole << size;
    }
  }
}

}  // namespace
}  // namespace blco
