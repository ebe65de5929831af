// Tables whose keys are known: any other key is none, and is named with its line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/table/csv_reader.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/thread_executor.hpp"

namespace blco {
namespace {

using testing::ElementsAre;
using Names = std::vector<std::string>;

struct FoundKeys {
  std::vector<std::vector<std::uint64_t>> rows;
  Names places;   // of each row
  Names unknown;  // per row that has a key that is none, the first such key of its batch
};

class KnownKeys : public testing::Test {
 protected:
  FoundKeys find(const std::string& text, TableOptions options, const std::vector<Names>& known) const {
    ThreadExecutor executor(3);
    options.numbers_new_keys = false;
    options.known = [&](const Names&) {
      std::vector<Labels> labels;
      for (const Names& mode : known) labels.emplace_back(mode);
      return labels;
    };
    const auto path = folder_.write("a.csv", text);
    const auto reader = open_csv({path}, options, executor);
    FoundKeys found;
    CoordinateBatch batch;
    while (reader->next(batch)) {
      for (std::size_t i = 0; i < batch.count(); ++i) {
        std::vector<std::uint64_t>& row = found.rows.emplace_back();
        found.places.push_back(reader->place_of(i));
        for (std::size_t n = 0; n < known.size(); ++n) {
          row.push_back(batch.coordinate(i, static_cast<int>(n)));
          if (row[n] >= known[n].size()) found.unknown.push_back(reader->unknown_key(n, row[n]));
        }
      }
    }
    for (const std::vector<std::uint32_t>& final_ones : reader->take_final_coordinates()) {
      EXPECT_TRUE(final_ones.empty());
    }
    return found;
  }
  std::string line(int number) const {
    return "line " + std::to_string(number) + " of " + (folder_ / "a.csv").string();
  }

  TemporaryFolder folder_;
};

TEST_F(KnownKeys, OthersGetTheNumberBehindThem) {
  const FoundKeys found = find("user,item,n\nbob,y,1\nzoe,x,2\nann,\"q\"\"q\",3\nzed,x,4\n",
                               {.columns = {{"user", "item"}, "n"}}, {{"ann", "bob"}, {"x", "y"}});

  EXPECT_THAT(found.rows, ElementsAre(ElementsAre(1, 1), ElementsAre(2, 0), ElementsAre(0, 2), ElementsAre(2, 0)));
  EXPECT_THAT(found.unknown, ElementsAre("zoe", "q\"q", "zoe"));
}

TEST_F(KnownKeys, LinesAreThoseOfTheFile) {
  const FoundKeys found = find("\xef\xbb\xbf\n\"us\ner\",item\r\n\"b\nb\",\"x\ny\"\r\n\nann,x\n\n\"a\"\"a\",x",
                               {.columns = {{"us\ner", "item"}, ""}}, {{"ann"}, {"x"}});

  EXPECT_THAT(found.places, ElementsAre(line(4), line(8), line(10)));
}

// Blocks of 40 bytes hold a few rows each; a wave has many of them.
TEST_F(KnownKeys, LinesAreThoseOfTheFileInEveryBlock) {
  std::string text = "user\n";
  Names expected;
  for (int i = 0; i < 500; ++i) {
    text += i % 7 == 3 ? "\n\"o\nx\"\n" : "bob\n";
    const auto before = std::count(text.begin(), text.end(), '\n');
    expected.push_back(line(static_cast<int>(before - (i % 7 == 3 ? 1 : 0))));
  }

  const FoundKeys found = find(text, {.columns = {{"user"}, ""}, .block_bytes = 40}, {{"bob"}});

  EXPECT_EQ(found.places, expected);
  EXPECT_EQ(found.unknown, Names(71, "o\nx"));
}

TEST_F(KnownKeys, TimesAndNumbersAreFoundByWhatTheyMean) {
  const FoundKeys found =
      find("when,price\n2024-03-05T10:00,2.5\n2024-03-07,1\n2024-03-03,99.5\n2024-03-05,-1e9\n",
           {.columns = {{"when:day", "price:bins=2"}, ""}}, {{"2024-03-05", "2024-03-03"}, {"[0, 2)", "[2, 4]"}});

  EXPECT_THAT(found.rows, ElementsAre(ElementsAre(0, 1), ElementsAre(2, 0), ElementsAre(1, 2), ElementsAre(0, 2)));
  EXPECT_THAT(found.unknown, ElementsAre("2024-03-07", "99.5", "99.5"));
}

TEST_F(KnownKeys, AMissingKeyIsKnownOrNot) {
  TableOptions options{.columns = {{"user", "when:day"}, ""}};
  options.missing = {.are_accepted = true, .key = "none"};
  const std::string text = "user,when\n,2024-03-05\nann,NA\n";

  const FoundKeys known = find(text, options, {{"ann", "none"}, {"2024-03-05", "none"}});
  const FoundKeys other = find(text, options, {{"ann"}, {"2024-03-05"}});

  EXPECT_THAT(known.rows, ElementsAre(ElementsAre(1, 0), ElementsAre(0, 1)));
  EXPECT_THAT(other.rows, ElementsAre(ElementsAre(1, 0), ElementsAre(0, 1)));
  EXPECT_THAT(other.unknown, ElementsAre("none", "none"));
}

}  // namespace
}  // namespace blco
