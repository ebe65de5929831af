// Files of labels: lines as they are, wherever the reader's buffer ends, and what is said of lines that are none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "io/table/label_file.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/io/text/compress_text.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t any_memory = ~std::uint64_t{0};

std::vector<std::string> listed(const Labels& labels) {
  std::vector<std::string> list;
  for (std::uint64_t i = 0; i < labels.size(); ++i) list.emplace_back(labels[i]);
  return list;
}

class LabelFiles : public testing::Test {
 protected:
  std::vector<std::string> read(const std::string& text) const {
    return listed(read_label_file(folder_.write("a.map", text), any_memory).labels);
  }
  std::string refused(const std::string& text) const {
    return message_of_error(ErrorKind::invalid_argument, [&] { read(text); });
  }

  TemporaryFolder folder_;
};

TEST_F(LabelFiles, AreOneLabelALine) {
  EXPECT_THAT(read("a\n"), ElementsAre("a"));
  EXPECT_THAT(read("a"), ElementsAre("a"));
  EXPECT_THAT(read("a b \n\"c\", d\n grün"), ElementsAre("a b ", "\"c\", d", " grün"));
  EXPECT_THAT(read("\xef\xbb\xbf"
                   "a\r\nb\r\n\xef\xbb\xbf\r\n"),
              ElementsAre("a", "b", "\xef\xbb\xbf"));
}

TEST_F(LabelFiles, MayBeCompressed) {
  EXPECT_THAT(read(gzip_text("a\nb\n")), ElementsAre("a", "b"));
  EXPECT_THAT(read(zstd_text("a\nb\n")), ElementsAre("a", "b"));
}

TEST_F(LabelFiles, HaveLinesOfAnyLength) {
  std::mt19937_64 random(3);
  std::vector<std::string> expected;
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    const std::size_t length = i % 700 == 5 ? random() % 1'500'000 : 1 + random() % 900;
    std::string label(std::max<std::size_t>(1, length), 'x');
    for (char& letter : label) letter = static_cast<char>('a' + random() % 26);
    expected.push_back(label);
    text += label + (i % 3 == 0 ? "\r\n" : "\n");
  }

  const LabelFile file = read_label_file(folder_.write("long.map", text), any_memory);

  std::uint64_t bytes = 0;
  for (const std::string& label : expected) bytes += label.size() + 8;
  EXPECT_EQ(file.memory_bytes, bytes);
  EXPECT_TRUE(listed(file.labels) == expected);
}

TEST_F(LabelFiles, AreCountedWhereTheyExceedTheMemory) {
  const auto path = folder_.write("a.map", "ab\nc\nd\n");

  EXPECT_EQ(read_label_file(path, 28).labels.size(), 3u);
  const LabelFile left_out = read_label_file(path, 27);

  EXPECT_TRUE(left_out.labels.empty());
  EXPECT_EQ(left_out.memory_bytes, 28u);
}

TEST_F(LabelFiles, AreRefusedNamingTheLine) {
  EXPECT_THAT(refused(""), HasSubstr("a.map is empty"));
  EXPECT_THAT(refused("a\n\nb\n"), HasSubstr("line 2 of "));
  EXPECT_THAT(refused("a\r\n\r\nb\r\n"), HasSubstr("a.map is empty, but every line is the label of one index"));
  EXPECT_THAT(refused("a\nb\n\n"), HasSubstr("line 3 of "));
  EXPECT_THAT(refused("a\nna\xefve\n"), HasSubstr("is not UTF-8: its byte 3 is 0xef; convert the text"));
  EXPECT_THAT(refused("\xef\xbb\xbf\n"), HasSubstr("line 1 of "));
  expect_error(ErrorKind::io, "none.map", [&] { read_label_file(folder_ / "none.map", any_memory); });
  expect_error(ErrorKind::corrupt, "truncated", [&] { read(gzip_text(std::string(9999, 'x')).substr(0, 40)); });
}

TEST(RepeatedLabels, AreCountedOnceEach) {
  std::mt19937_64 random(11);
  std::vector<std::string> labels;
  for (int i = 0; i < 20000; ++i) labels.push_back(std::to_string(random() % 15000));
  const std::multiset<std::string> all(labels.begin(), labels.end());
  std::uint64_t expected = 0;
  for (auto at = all.begin(); at != all.end(); at = all.upper_bound(*at)) expected += all.count(*at) > 1 ? 1 : 0;

  EXPECT_EQ(count_repeated_labels(Labels(labels)), expected);
  EXPECT_EQ(count_repeated_labels(Labels(std::vector<std::string>{"a", "b", "a", "a", "c", "b"})), 2u);
  EXPECT_EQ(count_repeated_labels(Labels(std::vector<std::string>{"a"})), 0u);
  EXPECT_EQ(count_repeated_labels(Labels()), 0u);
}

}  // namespace
}  // namespace blco
