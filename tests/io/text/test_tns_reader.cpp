// FROSTT text becomes batches, the same on any number of threads; errors name file and line whatever the blocks.
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/io/text/compress_text.hpp"
#include "tests/io/text/read_tns.hpp"

namespace blco {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TnsReader : public TnsText {};

struct RandomText {
  std::string text;
  std::vector<std::uint64_t> coordinates;  // three per entry
  std::vector<double> values;
};

// Entries among comments and empty lines, apart by blanks of any kind, with coordinates of any length.
RandomText random_text(int lines, unsigned seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](const auto& choices) { return choices[random() % std::size(choices)]; };
  const char* blanks[] = {" ", " ", " ", "\t", "  \t"};
  const char* ends[] = {"\n", "\n", "\n", "\r\n", " \n", "\t \r\n"};
  const char* fillers[] = {"\n", "# 1 2 3 4\n", "  \t\n", "\r\n", "  # a comment, with commas\r\n"};
  const char* values[] = {"1", "2", "-7", "0", "-0", "+4", "3.25", "-0.1", "1e3", "12345678", "123456789", ".5", "6."};
  RandomText made;
  for (int i = 0; i < lines; ++i) {
    if (random() % 8 == 0) made.text += pick(fillers);
    if (random() % 8 == 0) made.text += pick(blanks);
    for (int mode = 0; mode < 3; ++mode) {
      const std::uint64_t coordinate = random() >> (i % 500 == 499 ? random() % 60 : 32 + random() % 30);
      made.coordinates.push_back(coordinate);
      made.text += std::to_string(coordinate + 1) + pick(blanks);
    }
    const char* value = pick(values);
    made.values.push_back(std::strtod(value, nullptr));
    made.text += value + std::string(pick(ends));
  }
  return made;
}

TEST_F(TnsReader, ReadsWhatWasWritten) {
  const RandomText expected = random_text(20'000, 1);

  const Entries entries = read(expected.text);

  EXPECT_EQ(entries.order, 3);
  EXPECT_TRUE(entries.coordinates == expected.coordinates);
  ASSERT_EQ(entries.values.size(), expected.values.size());
  for (std::size_t i = 0; i < entries.values.size(); ++i) ASSERT_EQ(bits(entries.values[i]), bits(expected.values[i]));
}

TEST_F(TnsReader, BlocksOfAnySizeCutNoLine) {
  const RandomText expected = random_text(700, 2);
  const auto file = folder_.write("a.tns", expected.text);

  for (const std::size_t block_bytes : {1, 2, 7, 29, 64, 1000, 65'536}) {
    const Entries entries = read_all({file}, {.block_bytes = block_bytes}, 2);
    EXPECT_TRUE(entries.coordinates == expected.coordinates) << block_bytes;
    EXPECT_TRUE(entries.values == expected.values) << block_bytes;
  }
}

TEST_F(TnsReader, BatchesAreTheSameOnAnyNumberOfThreads) {
  const auto first = folder_.write("a.tns", random_text(30'000, 3).text);
  const auto second = folder_.write("b.tns.gz", gzip_text(random_text(9'000, 4).text));
  const TnsOptions options{.block_bytes = 10'000};

  const Entries one = read_all({first, second}, options, 1);
  const Entries two = read_all({first, second}, options, 2);
  const Entries five = read_all({first, second}, options, 5);

  EXPECT_GT(one.batch_counts.size(), 60U);
  EXPECT_TRUE(one == two);
  EXPECT_TRUE(one == five);
}

TEST_F(TnsReader, CompressedTextReadsAsPlainText) {
  const std::string text = random_text(40'000, 5).text;
  const auto plain = folder_.write("plain", text);
  const auto gzip = folder_.write("gzip", gzip_text(text));
  const auto members = folder_.write("members", gzip_text(text.substr(0, 99'999)) + gzip_text(text.substr(99'999)));
  const auto zstd = folder_.write("zstd", zstd_text(text));

  const Entries expected = read_all({plain});

  for (const auto& file : {gzip, members, zstd}) EXPECT_TRUE(read_all({file}, {}, 2) == expected) << file;
}

TEST_F(TnsReader, TruncatedStreamsAreCorruptAfterWhatPrecedes) {
  const std::string text = random_text(40'000, 6).text;
  const std::string gzip = gzip_text(text);
  const std::string zstd = zstd_text(text);

  for (const std::string& bytes : {gzip.substr(0, gzip.size() - 1), gzip.substr(0, gzip.size() / 2),
                                   zstd.substr(0, zstd.size() - 1), zstd.substr(0, zstd.size() / 2)}) {
    const auto file = folder_.write("cut", bytes);
    const std::string message =
        message_of_error(ErrorKind::corrupt, [&] { read_all({file}, {.block_bytes = 50'000}, 2); });
    EXPECT_THAT(message, AllOf(HasSubstr(file.string()), HasSubstr("truncated")));
  }
}

TEST_F(TnsReader, ALineBeforeTheDamageIsRefusedFirst) {
  std::string text = random_text(20'000, 7).text;
  text.insert(0, "1 1 1 x\n");
  const std::string zstd = zstd_text(text);
  const auto file = folder_.write("cut", zstd.substr(0, zstd.size() - 9));

  const std::string message = refusal({file}, {.block_bytes = 1000}, 3);

  EXPECT_THAT(message, HasSubstr("line 1 of " + file.string()));
}

TEST_F(TnsReader, CoordinatesStartAtTheIndexBase) {
  const Entries from_one = read("1 2 5\n3 1 6\n");
  const Entries from_zero = read("1 2 5\n3 0 6\n", {.index_base = 0});

  EXPECT_THAT(from_one.coordinates, ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(from_zero.coordinates, ElementsAre(1, 2, 3, 0));
  EXPECT_THAT(refused("1 2 5\n3 0 6\n"), AllOf(HasSubstr(place(2)), HasSubstr("`index_base = 0`")));
  EXPECT_THROW(read("1 1\n", {.index_base = 2}), Error);
}

TEST_F(TnsReader, SkipsLinesAtTheStartOfEveryFile) {
  const auto first = folder_.write("a", "i j v\nand more\n1 1 1\n");
  const auto second = folder_.write("b", zstd_text(std::string(100'000, 'x') + "\n\n2 2 2\n"));

  const Entries entries = read_all({first, second}, {.skip_lines = 2});

  EXPECT_THAT(entries.values, ElementsAre(1, 2));
  EXPECT_THAT(refusal({first}, {.skip_lines = 1}), HasSubstr("line 2 of " + first.string()));
  EXPECT_TRUE(read_all({first, second}, {.skip_lines = 9}).values.empty());
}

TEST_F(TnsReader, TheLastLineMayLackItsNewline) {
  const auto first = folder_.write("a", "1 1 1\n2 2 2");
  const auto second = folder_.write("b", "3 3 3\r");
  const auto third = folder_.write("c", "# end");

  const Entries entries = read_all({first, second, third});

  EXPECT_THAT(entries.values, ElementsAre(1, 2, 3));
}

TEST_F(TnsReader, AFileOfAnotherOrderIsRefusedNamingBoth) {
  const auto first = folder_.write("first", "1 1 1\n");
  const auto second = folder_.write("second", "#\n1 1 1 1\n");

  for (const int threads : {1, 3}) {
    EXPECT_THAT(refusal({first, second}, {}, threads),
                AllOf(HasSubstr("line 2 of " + second.string()), HasSubstr("line 1 of " + first.string())));
  }
}

TEST_F(TnsReader, TheFirstBadLineInInputOrderIsNamed) {
  std::vector<std::string> lines(20'000, "1 2 3 4");
  lines[4] = "# comment";
  lines[16'999] = "1 2 3";
  lines[17'000] = "1 2 3 4 5";
  lines[19'000] = "1 2 3 x";
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  const auto file = folder_.write("a.tns", text);

  for (const std::size_t block_bytes : {8, 100, 5'000, 1 << 20}) {
    for (const int threads : {1, 2, 5}) {
      const std::string message = refusal({file}, {.block_bytes = block_bytes}, threads);
      EXPECT_THAT(message, AllOf(HasSubstr(place(17'000) + ": 3 fields"), HasSubstr(place(1) + " has 4")));
    }
  }
}

TEST_F(TnsReader, MessagesAreTheSameForAnyBlockSizeAndNumberOfThreads) {
  for (const std::string bad : {"1 2 x", "1 2", "1 2 x 4", "a b c d", "0 1 1", "1,2,3", "1 2 3 inf", "-1 1 1"}) {
    const auto file = folder_.write("a.tns", "1 1 1\n2 2 2\n# c\n3 3 3\n" + bad + "\n4 4 4\n1 x 1\n");
    const std::string expected = refusal({file});

    EXPECT_THAT(expected, HasSubstr(place(5)));
    for (const std::size_t block_bytes : {1, 6, 13, 20}) {
      for (const int threads : {1, 3}) EXPECT_EQ(refusal({file}, {.block_bytes = block_bytes}, threads), expected);
    }
  }
}

TEST_F(TnsReader, SkippedLinesAreCounted) {
  const auto first = folder_.write("a.tns", "x\nx\n1 1 1\n1 1 1\n");
  const auto second = folder_.write("b.tns", "x\nx\n\n1 1 1\n1 1 -\n");

  EXPECT_THAT(refusal({first, second}, {.skip_lines = 2, .block_bytes = 6}), HasSubstr("line 5 of " + second.string()));
}

TEST_F(TnsReader, BytesReadReachTheSizeOfAllFiles) {
  const auto first = folder_.write("a", gzip_text(random_text(5'000, 9).text));
  const auto second = folder_.write("b", random_text(5'000, 10).text);
  SerialExecutor executor;
  const auto reader = open_tns({first, second}, {.block_bytes = 10'000}, executor);
  CoordinateBatch batch;
  std::uint64_t before = 0;

  while (reader->next(batch)) {
    EXPECT_GE(reader->bytes_read(), before);
    before = reader->bytes_read();
  }

  EXPECT_EQ(reader->bytes_read(), std::filesystem::file_size(first) + std::filesystem::file_size(second));
}

TEST_F(TnsReader, ItsNameIsThatOfItsFiles) {
  const auto first = folder_.write("a", "");
  const auto second = folder_.write("b", "");
  SerialExecutor executor;

  EXPECT_EQ(open_tns({first, second}, {}, executor)->name(), first.string() + ", " + second.string());
}

TEST_F(TnsReader, FilesThatCannotBeReadAreRefusedBeforeAnythingIsRead) {
  const auto good = folder_.write("a", "1 1 1\n");
  SerialExecutor executor;

  const std::string absent = message_of_error(ErrorKind::io, [&] {
    open_tns({good, folder_ / "absent"}, {}, executor);
  });
  const std::string is_folder = message_of_error(ErrorKind::io, [&] {
    open_tns({good, folder_.path()}, {}, executor);
  });

  EXPECT_THAT(absent, HasSubstr((folder_ / "absent").string()));
  EXPECT_THAT(is_folder, HasSubstr("folder"));
  message_of_error(ErrorKind::invalid_argument, [&] { open_tns({}, {}, executor); });
}

}  // namespace
}  // namespace blco
