// Keys that are one number in several spellings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/table/csv_reader.hpp"
#include "io/table/equal_numbers.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/thread_executor.hpp"

namespace blco {
namespace {

KeyPairs equal_among(const std::vector<std::string>& keys, char decimal = '.') {
  return find_equal_numbers(Labels(keys), decimal);
}

TEST(EqualNumbers, AreCountedWhateverTheirSpelling) {
  EXPECT_EQ(equal_among({"1", "2", "1.0", "2.0", "3"}).pairs, 2U);
  EXPECT_EQ(equal_among({"100000", "1e+05"}).pairs, 1U);
  EXPECT_EQ(equal_among({"1", "01", "001", "+1", " 1", "1."}).pairs, 5U);
  EXPECT_EQ(equal_among({"0", "-0", "0.0", "-5", "-5.0"}).pairs, 3U);
  EXPECT_EQ(equal_among({"0.5", "0.50", "0,5"}).pairs, 1U);
  EXPECT_EQ(equal_among({"0.5", "0,50", "0,5"}, ',').pairs, 1U);
  EXPECT_EQ(equal_among({"9007199254740993.0", "9007199254740992", "123456789012345", "123456789012345.0"}).pairs, 1U);
}

TEST(EqualNumbers, AreNoOtherKeys) {
  EXPECT_EQ(equal_among({}).pairs, 0U);
  EXPECT_EQ(equal_among({"1", "10", "-1", "0"}).pairs, 0U);
  EXPECT_EQ(equal_among({"0.5", "0.25", "1e3", "1e4"}).pairs, 0U);
  EXPECT_EQ(equal_among({"a", "A", "nan", "NaN", "inf", "Inf", "1.2.3", "1.2.30", "0x1", "1"}).pairs, 0U);
  EXPECT_EQ(equal_among({"0", "1e-400"}).pairs, 0U);
}

TEST(EqualNumbers, AreShownByTheFirstPair) {
  const KeyPairs found = equal_among({"9", "x", "7", "7.0", "9.0", "07"});

  EXPECT_EQ(found.pairs, 3U);
  EXPECT_EQ(found.first, 2U);
  EXPECT_EQ(found.second, 3U);
}

TEST(EqualNumbers, AreNotedOfEachMode) {
  const TemporaryFolder folder;
  ThreadExecutor executor(1);
  const auto reader = open_csv({folder.write("jan.csv", "user,month,n\nu1,1,2\nu2,2,3\n"),
                                folder.write("feb.csv", "user,month,n\nu1,1.0,2\nu2,2.0,3\nu3,,1\n")},
                               {.columns = {{"user", "month"}, "n"}, .missing = {true, ""}}, executor);
  CoordinateBatch batch;
  while (reader->next(batch)) {
  }

  EXPECT_THAT(reader->notes(),
              testing::ElementsAre("the mode 'month': 2 pairs of keys are equal as numbers ('1' and '1.0'); write them "
                                   "alike if they mean the same"));
}

}  // namespace
}  // namespace blco
