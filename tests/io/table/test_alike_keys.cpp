// Keys that look alike but differ in blanks or in the form of accents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/table/alike_keys.hpp"
#include "io/table/csv_reader.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/thread_executor.hpp"

namespace blco {
namespace {

KeyPairs alike_among(const std::vector<std::string>& keys) { return find_alike_keys(Labels(keys)); }

TEST(AlikeKeys, AreCountedWhateverTheirBlanks) {
  EXPECT_EQ(alike_among({"Paris", "Paris ", "Rome"}).pairs, 1U);
  EXPECT_EQ(alike_among({" Paris", "Rome", "Paris\t", "Paris", "Rome  "}).pairs, 3U);
  EXPECT_EQ(alike_among({" a", "a "}).pairs, 1U);
  EXPECT_EQ(alike_among({" ", "  "}).pairs, 1U);
}

TEST(AlikeKeys, AreCountedWhateverTheFormOfTheirAccents) {
  EXPECT_EQ(alike_among({"Caf\u00e9", "Cafe\u0301"}).pairs, 1U);
  EXPECT_EQ(alike_among({"K\u00f6ln", "Ko\u0308ln ", "Koln"}).pairs, 1U);
  // Two marks on one letter, one of them composed or none: a Vietnamese name.
  EXPECT_EQ(alike_among({"Nguy\u1ec5n", "Nguy\u00ea\u0303n", "Nguye\u0302\u0303n"}).pairs, 2U);
  EXPECT_EQ(alike_among({"\u1ec7", "e\u0323\u0302"}).pairs, 1U);
  EXPECT_EQ(alike_among({"\u0439", "\u0438\u0306", "\u03ac", "\u03b1\u0301"}).pairs, 2U);
}

TEST(AlikeKeys, AreNoOtherKeys) {
  EXPECT_EQ(alike_among({}).pairs, 0U);
  EXPECT_EQ(alike_among({"Paris ", " Rome", "New York", "NewYork"}).pairs, 0U);
  EXPECT_EQ(alike_among({"e", "\u00e9", "\u00e8", "e\u0302", "q\u0301", "q", "\u0301", "paris", "Paris"}).pairs, 0U);
}

TEST(AlikeKeys, AreShownByTheFirstPair) {
  const KeyPairs found = alike_among({"b ", "x", "a", "a ", "b", " a"});

  EXPECT_EQ(found.pairs, 3U);
  EXPECT_EQ(found.first, 2U);
  EXPECT_EQ(found.second, 3U);
}

TEST(AlikeKeys, AreShownByTheCharactersThatDiffer) {
  const auto shown = [](const std::vector<std::string>& keys) {
    const Labels labels(keys);
    return show_alike_keys(labels, find_alike_keys(labels));
  };

  EXPECT_EQ(shown({"Rome", "Rome "}), "'Rome' and 'Rome '");
  EXPECT_EQ(shown({"Caf\u00e9s", "Cafe\u0301s"}), "'Caf\u00e9s' with U+00E9 and 'Cafe\u0301s' with U+0065 U+0301");
  EXPECT_EQ(shown({"e\u0323\u0302", "\u1ec7"}), "'e\u0323\u0302' with U+0065 U+0323 U+0302 and '\u1ec7' with U+1EC7");
}

TEST(AlikeKeys, AreNotedOfEachMode) {
  const TemporaryFolder folder;
  ThreadExecutor executor(1);
  const auto reader = open_csv({folder.write("t.csv", "city,day,n\nParis,1,2\nParis ,2,3\n Paris,3,1\n")},
                               {.columns = {{"city", "day"}, "n"}}, executor);
  CoordinateBatch batch;
  while (reader->next(batch)) {
  }

  EXPECT_EQ(reader->declared_shape().front(), 3U);
  EXPECT_THAT(
      reader->notes(),
      testing::ElementsAre("the mode 'city': 2 pairs of keys differ only by blanks around them or by how "
                           "accents are encoded ('Paris' and 'Paris '); write them alike if they mean the same"));
}

}  // namespace
}  // namespace blco
