// Real tensors, and small files that are malformed each in its own way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "blco/error.hpp"
#include "io/text/tns_reader.hpp"
#include "tests/io/expect_error.hpp"

namespace blco {
namespace {

using ::testing::HasSubstr;

struct Sums {
  int order = 0;
  std::size_t count = 0;
  double sum = 0;
  double sum_of_squares = 0;

  bool operator==(const Sums&) const = default;
};

void PrintTo(const Sums& sums, std::ostream* out) {
  *out << "order " << sums.order << ", count " << sums.count << ", sum " << sums.sum << ", squares "
       << sums.sum_of_squares;
}

Sums sums_of(const std::filesystem::path& file) {
  SerialExecutor executor;
  const auto reader = open_tns({file}, {}, executor);
  Sums sums;
  CoordinateBatch batch;
  while (reader->next(batch)) {
    sums.order = batch.order;
    sums.count += batch.count();
    for (const double value : batch.values) {
      sums.sum += value;
      sums.sum_of_squares += value * value;
    }
  }
  return sums;
}

class RealText : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::is_directory(data_)) GTEST_SKIP() << "no real tensors: " << data_ << " is absent";
  }

  std::filesystem::path data_ = BLCO_DATA_DIR;
  std::filesystem::path malformed_ = data_ / "malformed";
};

// Counts and sums as the README of the data gives them.
TEST_F(RealText, SumsAreThoseOfItsReadme) {
  EXPECT_EQ(sums_of(data_ / "nips12.tns.gz"), (Sums{4, 2'153'323, 5'296'033, 45'937'843}));
  EXPECT_EQ(sums_of(data_ / "darpa1998-3d.tns.gz"), (Sums{3, 522'236, 4'554'344, 10'135'237'396}));
  EXPECT_EQ(sums_of(data_ / "darpa1998-3d-events.tns.gz"), (Sums{3, 4'554'344, 4'554'344, 4'554'344}));
  EXPECT_EQ(sums_of(data_ / "darpa1998-5d.tns.gz"), (Sums{5, 522'378, 4'554'344, 10'134'964'984}));
  EXPECT_EQ(sums_of(data_ / "icews18.tns.gz"), (Sums{4, 468'558, 468'558, 468'558}));
  EXPECT_EQ(sums_of(data_ / "uber-head.tns.gz"), (Sums{4, 353'486, 393'210, 503'982}));
}

TEST_F(RealText, UnusualButSoundFilesAreAccepted) {
  EXPECT_EQ(sums_of(malformed_ / "ok.tns"), (Sums{3, 4, 7.5, 16.25}));
  EXPECT_EQ(sums_of(malformed_ / "ok.tns.gz"), (Sums{3, 4, 7.5, 16.25}));
  EXPECT_EQ(sums_of(malformed_ / "crlf.tns"), (Sums{3, 3, 4, 6}));
  EXPECT_EQ(sums_of(malformed_ / "trail.tns"), (Sums{3, 3, 4, 6}));
  EXPECT_EQ(sums_of(malformed_ / "emptyslice.tns"), (Sums{3, 3, 5, 9}));
  EXPECT_EQ(sums_of(malformed_ / "off5.tns"), (Sums{3, 3, 6, 14}));
  EXPECT_EQ(sums_of(malformed_ / "zero.tns"), (Sums{3, 3, 4, 10}));
  EXPECT_EQ(sums_of(malformed_ / "dup.tns"), (Sums{3, 3, 5, 9}));
  EXPECT_EQ(sums_of(malformed_ / "m9.tns"), (Sums{9, 2, 3, 5}));
}

TEST_F(RealText, FilesWithoutEntriesGiveNoBatch) {
  EXPECT_EQ(sums_of(malformed_ / "empty.tns").count, 0U);
  EXPECT_EQ(sums_of(malformed_ / "comment.tns").count, 0U);
}

TEST_F(RealText, MalformedFilesAreRefusedByLine) {
  const struct {
    const char* name;
    int line;
    const char* reason;
  } cases[] = {{"badval.tns", 2, "'abc' is not a number"},
               {"csv.tns", 1, "CSV"},
               {"header.tns", 1, "`skip_lines = 1`"},
               {"nan.tns", 2, "not finite"},
               {"neg.tns", 2, "negative"},
               {"ovf.tns", 1, "too large"},
               {"short.tns", 2, "3 fields"}};

  for (const auto& bad : cases) {
    const auto file = malformed_ / bad.name;
    const std::string message = message_of_error(ErrorKind::invalid_argument, [&] { sums_of(file); });
    EXPECT_THAT(message, HasSubstr("line " + std::to_string(bad.line) + " of " + file.string() + ": "));
    EXPECT_THAT(message, HasSubstr(bad.reason));
  }
}

}  // namespace
}  // namespace blco
