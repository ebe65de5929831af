// Tables with a header: keys and values wherever blocks are cut, and what is said of rows that are not acceptable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <unordered_map>
#include <utility>

#include "io/table/csv_reader.hpp"
#include "io/table/key_dictionary.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/thread_executor.hpp"

namespace blco {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Paths = std::vector<std::filesystem::path>;

struct Table {
  std::vector<std::vector<std::uint64_t>> rows;
  std::vector<double> values;
  std::vector<std::vector<std::string>> labels;
  std::vector<std::uint64_t> shape;
  std::vector<std::string> notes;

  bool operator==(const Table&) const = default;
};

Table read_table(const Paths& files, const TableOptions& options, int threads = 1) {
  ThreadExecutor executor(threads);
  const auto reader = open_csv(files, options, executor);
  Table table;
  CoordinateBatch batch;
  while (reader->next(batch)) {
    for (std::size_t i = 0; i < batch.count(); ++i) {
      std::vector<std::uint64_t>& row = table.rows.emplace_back();
      for (int mode = 0; mode < batch.order; ++mode) {
        row.push_back(batch.coordinate(i, mode));
        EXPECT_LE(row.back(), batch.upper[static_cast<std::size_t>(mode)]);
      }
    }
    table.values.insert(table.values.end(), batch.values.begin(), batch.values.end());
  }
  for (const Labels& labels : reader->take_labels()) {
    std::vector<std::string>& list = table.labels.emplace_back();
    for (std::uint64_t i = 0; i < labels.size(); ++i) list.emplace_back(labels[i]);
  }
  table.shape = reader->declared_shape();
  table.notes = reader->notes();
  return table;
}

class CsvText : public testing::Test {
 protected:
  Table read(const std::string& text, const TableOptions& options = user_item_count) const {
    return read_table({folder_.write("a.csv", text)}, options);
  }
  std::string refused(const std::string& text, const TableOptions& options = user_item_count) const {
    return message_of_error(ErrorKind::invalid_argument, [&] { read(text, options); });
  }
  std::string place(int line) const { return "line " + std::to_string(line) + " of " + (folder_ / "a.csv").string(); }

  inline static const TableOptions user_item_count{.columns = {{"user", "item"}, "count"}};
  TemporaryFolder folder_;
};

TEST_F(CsvText, NumbersKeysByFirstAppearance) {
  const Table table = read("count,item,user\n2,x,bob\n3,y,ann\n-1.5,x,ann\n");

  EXPECT_THAT(table.rows, ElementsAre(ElementsAre(0, 0), ElementsAre(1, 1), ElementsAre(1, 0)));
  EXPECT_THAT(table.values, ElementsAre(2, 3, -1.5));
  EXPECT_THAT(table.labels, ElementsAre(ElementsAre("bob", "ann"), ElementsAre("x", "y")));
  EXPECT_THAT(table.shape, ElementsAre(2, 2));
}

TEST_F(CsvText, TakesNamesFromOutsideWhereNoLineHasThem) {
  TableOptions options = user_item_count;
  options.columns.names = {"user", "item", "count"};
  const Table expected = read("user,item,count\nbob,7,2\nann,8,3\n");

  EXPECT_EQ(read("bob,7,2\nann,8,3\n", options), expected);
  EXPECT_EQ(read("\xef\xbb\xbf\n\"bob\";7;2\nann;8;3", options), expected);
  // The comma is most frequent, but makes another number of columns.
  EXPECT_EQ(read("a,b,c,d;7;2\n", options).labels[0], std::vector<std::string>{"a,b,c,d"});
  EXPECT_THAT(refused("bob,7,2\nann,8,x\n", options), HasSubstr(place(2)));
  EXPECT_THAT(refused("bob,7\n", options), HasSubstr("has 2 fields, but `columns.names` names 3"));
}

// A header of numbers is data, unless they count up as where columns have no other names.
TEST_F(CsvText, RefusesARowOfNumbersAsNames) {
  const auto of = [](std::vector<std::string> modes) { return TableOptions{.columns = {std::move(modes), ""}}; };

  EXPECT_THAT(refused("196,242\n186,302\n", of({"196", "242"})), HasSubstr(place(1) + " looks like data"));
  EXPECT_EQ(read("0,1\n186,302\n", of({"0", "1"})).rows.size(), 1U);
  EXPECT_EQ(read("2019,2020,2021\n1,2,3\n", of({"2019", "2021"})).rows.size(), 1U);
  EXPECT_EQ(read("user,0\nann,3\n", of({"user", "0"})).rows.size(), 1U);
}

TEST_F(CsvText, TakesFurtherWordsForMissingFields) {
  TableOptions options = user_item_count;
  options.missing = {true, "none", {"\\N", "?"}};
  const Table table = read("user,item,count\n\\N,?,1\nNA,x,2\nann,\"?\",3\nann,x, ? \n?x,x,4\n", options);

  EXPECT_THAT(table.rows, ElementsAre(ElementsAre(0, 0), ElementsAre(0, 1), ElementsAre(1, 0), ElementsAre(2, 1)));
  EXPECT_THAT(table.labels, ElementsAre(ElementsAre("none", "ann", "?x"), ElementsAre("none", "x")));
  options.missing.key.clear();
  EXPECT_THAT(read("user,item,count\n\\N,x,1\nann,x,2\n", options).values, ElementsAre(2));
  options.missing.are_accepted = false;
  EXPECT_THAT(refused("user,item,count\nann,x,1\n\\N,x,1\n", options), HasSubstr(place(3)));
}

TEST_F(CsvText, TakesQuotesLineEndsMarkAndBlankLines) {
  const Table plain = read("user,item,count\na \"b\",x;y,1\n");
  const Table quoted = read("\xef\xbb\xbf\r\n\"user\",\"item\",count\r\n\r\n\"a \"\"b\"\"\",\"x;y\",\"1\"\r\n\n");
  const Table with_separator = read("user,item,count\n\"a,b\",\"\"\"\",1");

  EXPECT_EQ(quoted, plain);
  EXPECT_THAT(with_separator.labels, ElementsAre(ElementsAre("a,b"), ElementsAre("\"")));
}

TEST_F(CsvText, LeavesOutLinesOfBlanksAlone) {
  const Table plain = read("user,item,count\na,x,1\nb,y,2\n");
  TableOptions by_comma = user_item_count;
  by_comma.dialect.separator = ',';
  TableOptions unnamed = user_item_count;
  unnamed.columns.names = {"user", "item", "count"};

  EXPECT_EQ(read(" \n\n  \r\nuser,item,count\n \na,x,1\n\t \r\n\nb,y,2\n  \n"), plain);
  EXPECT_EQ(read(" \t\nuser,item,count\na,x,1\nb,y,2\n \t", by_comma), plain);
  EXPECT_EQ(read("user\titem\tcount\n  \na\tx\t1\n \r\nb\ty\t2"), plain);
  EXPECT_EQ(read("  \na,x,1\n \nb,y,2\n", unnamed), plain);
  EXPECT_EQ(read("when\n2024-01-01\n \n2024-01-02\n", {.columns = {{"when:day"}, ""}}).values.size(), 2U);
}

TEST_F(CsvText, TakesBlanksForARowWhereTheyMayBeOne) {
  const Table keys = read("user\na\n  \nb\n", {.columns = {{"user"}, ""}});
  const Table unnamed = read("\n  \na\n", {.columns = {{"user"}, "", {"user"}}});

  EXPECT_THAT(keys.labels, ElementsAre(ElementsAre("a", "  ", "b")));
  EXPECT_THAT(unnamed.labels, ElementsAre(ElementsAre("  ", "a")));
  EXPECT_THAT(refused("user\titem\tcount\n\t\t\n"), HasSubstr(place(2) + ": column 1, 'user', is empty"));
  EXPECT_THAT(refused("user,item,count\n \nb,y\n"), HasSubstr(place(3)));
}

TEST_F(CsvText, CountsRowsWithoutAColumnOfValues) {
  const Table table = read("user,item,count\na,x,\nb,x,no number\n", {.columns = {{"item"}, ""}});

  EXPECT_THAT(table.values, ElementsAre(1, 1));
  EXPECT_THAT(table.labels, ElementsAre(ElementsAre("x")));
}

TEST_F(CsvText, TellsTheSeparatorByHeaderNameOrOption) {
  TableOptions bar = user_item_count;
  bar.dialect.separator = '|';
  const Table expected = read("user,item,count\na,x,1\n");

  EXPECT_EQ(read("user;item;count\na;x;1\n"), expected);
  EXPECT_EQ(read("user\titem\tcount\na\tx\t1\n"), expected);
  EXPECT_EQ(read("user|item|count\na|x|1\n", bar), expected);
  EXPECT_EQ(read_table({folder_.write("a.tsv", "user\titem\tcount\n")}, user_item_count).rows.size(), 0U);
  EXPECT_EQ(read("a, note;b, note;c, note;item;user;count\n1;2;3;x;a;1\n"), expected);
  EXPECT_EQ(read("\"x;y\"\t\"n, m\"\n1\ta\n", {.columns = {{"n, m"}, ""}}).labels[0], std::vector<std::string>{"a"});
  EXPECT_EQ(read("\"user,a,b\";item;count;user\na;x;1;u\n").labels[0], std::vector<std::string>{"u"});
}

TEST_F(CsvText, KnownKeysKeepTheirNumbers) {
  TableOptions options = user_item_count;
  const std::vector<std::string> users = {"zoe", "ann"};
  options.known = [&](const std::vector<std::string>& modes) {
    EXPECT_THAT(modes, ElementsAre("user", "item"));
    return std::vector<Labels>{Labels(users), Labels()};
  };

  const Table table = read("user,item,count\nann,x,1\nbob,x,1\n", options);

  EXPECT_THAT(table.rows, ElementsAre(ElementsAre(1, 0), ElementsAre(2, 0)));
  EXPECT_THAT(table.labels[0], ElementsAre("zoe", "ann", "bob"));
  EXPECT_THAT(table.shape, ElementsAre(3, 1));
}

std::string random_rows(std::uint64_t seed, int count) {
  std::mt19937_64 random(seed);
  std::string text = "user,item,count\n";
  for (int i = 0; i < count; ++i) {
    const std::string user = std::to_string(random() % 50);
    text += (random() % 3 == 0 ? "\"u\"\"" + user + "\"" : "u" + user) + ",item " + std::to_string(random() % 90) +
            "," + std::to_string(random() % 7) + (random() % 5 == 0 ? "\r\n" : "\n") + (random() % 9 == 0 ? "\n" : "");
  }
  return text;
}

TEST_F(CsvText, IsTheSameWhereverBlocksAreCutAndOnAnyThreads) {
  const Paths files = {folder_.write("a.csv", random_rows(1, 400)), folder_.write("b.csv", random_rows(2, 1)),
                       folder_.write("c.csv", random_rows(3, 300))};
  const Table expected = read_table(files, user_item_count);
  ASSERT_EQ(expected.rows.size(), 701U);
  for (const std::size_t block_bytes : {32, 33, 37, 64, 100, 1000, 5000}) {
    for (const int threads : {1, 2, 5}) {
      TableOptions options = user_item_count;
      options.block_bytes = block_bytes;

      EXPECT_EQ(read_table(files, options, threads), expected) << block_bytes << " bytes, " << threads << " threads";
    }
  }
}

TEST_F(CsvText, NamesTheLineAndTheColumnOfABadRowWhereverBlocksAreCut) {
  std::string rows = random_rows(4, 300);
  const auto line = std::ranges::count(rows, '\n') + 1;
  rows += "ann,,1\n" + random_rows(5, 300);
  for (const std::size_t block_bytes : {32, 100, 5000, 1000000}) {
    TableOptions options = user_item_count;
    options.block_bytes = block_bytes;

    EXPECT_EQ(refused(rows, options), place(static_cast<int>(line)) +
                                          ": column 2, 'item', is empty; fill it in, or leave such rows out with "
                                          "`columns.missing = skip`, or give `columns.missing = unknown` to make one "
                                          "key of all missing ones");
  }
}

TEST_F(CsvText, RefusesRowsThatDoNotFitTheHeader) {
  EXPECT_THAT(refused("user,item,count\na,x,1\nb,x\n"),
              HasSubstr(place(3) + ": 2 fields, but the header has 3 columns"));
  EXPECT_THAT(refused("user,item,count\na,x,1,\n"), HasSubstr("4 fields, but the header has 3 columns"));
  EXPECT_THAT(refused("user,item,count\na,x,one\n"), HasSubstr("column 3, 'count', 'one' is not a number"));
  EXPECT_THAT(refused("user,item,count\na,x,\n"), HasSubstr("column 3, 'count', is empty"));
  EXPECT_THAT(refused("user,item,count\na,x,inf\n"), HasSubstr("'inf' is not finite"));
  EXPECT_THAT(refused("user,item,count\na,x,1e999\n"), HasSubstr("'1e999' is too large for a double"));
  EXPECT_THAT(refused("user,item,count\n\"a\nb\",\"x\ny,1\n"),
              HasSubstr(place(3) + ": column 2, 'item', starts with a quote that is not closed"));
  EXPECT_THAT(refused("user,item,count\na,\"x\"y,1\n"),
              HasSubstr("column 2, 'item', continues after its closing quote; double every quote within a quoted "
                        "field, or give `columns.quotes = none` if quotes are ordinary characters here"));
  EXPECT_THAT(refused("user,item,count\na,\"say \\\"x\\\"\",1\n"),
              HasSubstr("within a quoted field, where a backslash before it has no effect, or give"));
  EXPECT_THAT(refused("user,item,count\na\rb,x,1\n"), HasSubstr("column 1, 'user', contains a carriage return"));
}

TEST_F(CsvText, TakesQuotesAsCharactersWhereAsked) {
  const std::string swallowing = "user\titem\tcount\nA\tX\t1\nB\t\"Heroes\t2\nC\tY\t4\r\n\nD\tZ\"\t8\n";
  const std::string data = "\"user\"\titem\tcount\n\"Swing it\" magistern\tx\t1\n\"Giliap\"\t\"\t2\n\"\"\ty\\\"\t3";
  TableOptions options = user_item_count;
  options.dialect.has_quotes = false;
  TableOptions quoted_name{.columns = {{"\"user\"", "item"}, "count"}, .dialect = options.dialect};
  for (const std::size_t block_bytes : {1, 20, 4096}) {
    options.block_bytes = quoted_name.block_bytes = block_bytes;

    const Table rows = read(swallowing, options);
    const Table keys = read(data, quoted_name);

    EXPECT_THAT(rows.labels[0], ElementsAre("A", "B", "C", "D"));
    EXPECT_THAT(rows.labels[1], ElementsAre("X", "\"Heroes", "Y", "Z\""));
    EXPECT_THAT(rows.values, ElementsAre(1, 2, 4, 8));
    EXPECT_THAT(rows.notes, IsEmpty());
    EXPECT_THAT(keys.labels[0], ElementsAre("\"Swing it\" magistern", "\"Giliap\"", "\"\""));
    EXPECT_THAT(keys.labels[1], ElementsAre("x", "\"", "y\\\""));
  }
  EXPECT_EQ(read("a;b\n\"x;\"y\n", {.columns = {{"a", "b"}, ""}, .dialect = {.has_quotes = false}}).labels[0][0],
            "\"x");
}

TEST_F(CsvText, NotesQuotedFieldsThatSpanLines) {
  const std::string file = (folder_ / "a.csv").string();
  const std::string remedy = "; if quotes are ordinary characters here, give `columns.quotes = none`";
  const auto notes = [&](const std::string& text, std::size_t block_bytes = 4096) {
    TableOptions options = user_item_count;
    options.block_bytes = block_bytes;
    return read(text, options).notes;
  };

  for (const std::size_t block_bytes : {1, 30, 4096}) {
    EXPECT_THAT(notes("user\titem\tcount\nA\tX\t1\nB\t\"Heroes\t2\nC\tY\t4\nD\tZ\"\t8\nE\t\"a\nb\"\t1\n", block_bytes),
                ElementsAre("a quoted key of the column 'item' spans lines 3 to 5 of " + file +
                            " (the first of 2 such fields)" + remedy));
  }
  // In other columns only where whole rows may have been swallowed.
  EXPECT_THAT(notes("note,user,item,count\n\"x, y\nand z\",A,X,1\n"), IsEmpty());
  EXPECT_THAT(notes("note,user,item,count\n\"x,A,X,1\ny\",B,X,2\n"),
              ElementsAre("a quoted field of the column 'note' spans lines 2 to 3 of " + file + remedy));
  EXPECT_THAT(notes("user,item,count\n\"A\",\"X, \"\"y\"\"\",1\nB,5\" disk,1\n"), IsEmpty());
}

TEST_F(CsvText, RefusesColumnsThatAreNotThereOrNotOne) {
  EXPECT_EQ(refused("user,thing,count\na,x,1\n"),
            (folder_ / "a.csv").string() +
                " has no column 'item', which `columns.modes` asks for; its columns are: user, thing, count");
  EXPECT_THAT(
      refused("user, Item ,count\na,x,1\n"),
      HasSubstr("has no column 'item', which `columns.modes` asks for; perhaps ' Item ' is meant; its columns"));
  EXPECT_THAT(refused("user,item,item,count\n"), HasSubstr("has 2 columns named 'item'"));
  EXPECT_THAT(refused("user,item\n"), HasSubstr("has no column 'count', which `columns.value` asks for"));
  EXPECT_THAT(refused("user,item\n", {.columns = {{"user", "user"}, ""}}),
              HasSubstr("`columns.modes` names the column 'user' twice"));
  EXPECT_THAT(refused("user,item\n", {.columns = {{"user"}, "user"}}),
              HasSubstr("`columns.modes` and `columns.value` both name the column"));
  EXPECT_THAT(refused(""), HasSubstr("is empty; its first line must name the columns"));
  EXPECT_THAT(refused("\n\r\n"), HasSubstr("is empty; its first line must name the columns"));
  EXPECT_THAT(refused("\xff\xfeu\0s\0"), HasSubstr("UTF-16"));
}

TEST_F(CsvText, FindsColumnsByNameInEveryFile) {
  const Paths files = {folder_.write("a.csv", "user,item,count\na,x,1\n"),
                       folder_.write("b.csv", "\nnote;count;item;user\n\"1;2\";2,5;x;b\n"),
                       folder_.write("c.tsv", "item\tcount\tuser\ny\t3\ta\n")};
  TableOptions options = user_item_count;
  options.dialect.decimal = ',';

  const Table table = read_table(files, options);

  EXPECT_THAT(table.rows, ElementsAre(ElementsAre(0, 0), ElementsAre(1, 0), ElementsAre(0, 1)));
  EXPECT_THAT(table.values, ElementsAre(1, 2.5, 3));
  EXPECT_THAT(table.labels, ElementsAre(ElementsAre("a", "b"), ElementsAre("x", "y")));
  const Paths lacking = {files[0], folder_.write("d.csv", "item,count\nx,1\n")};
  EXPECT_EQ(
      message_of_error(ErrorKind::invalid_argument, [&] { read_table(lacking, user_item_count); }),
      lacking[1].string() + " has no column 'user', which `columns.modes` asks for; its columns are: item, count");
}

TEST_F(CsvText, RefusesKeysBeyondTheirMemoryAndNamesABudget) {
  std::string text = "user,item,count\n";
  for (int i = 0; i < 20000; ++i) text += "user " + std::to_string(i) + ",x,1\n";
  TableOptions options = user_item_count;
  options.block_bytes = 4096;
  options.key_bytes = 200 << 10;
  options.memory_bytes = 400 << 10;

  const std::string message = message_of_error(ErrorKind::out_of_memory, [&] { read(text, options); });

  EXPECT_THAT(message, HasSubstr("the budget of 400 KiB leaves 200 KiB for keys; give `memory_bytes = "));
  options.key_bytes = 8 << 20;
  EXPECT_EQ(read(text, options).rows.size(), 20000U);
}

// Fields are found in windows of 64 bytes.
TEST_F(CsvText, FieldsEndAnywhere) {
  for (const char separator : {',', ';', '|'}) {
    std::string text = "user,item,count\n";
    std::ranges::replace(text, ',', separator);
    std::vector<std::string> users;
    std::vector<double> values;
    for (std::size_t length = 1; length < 200; ++length) {
      users.push_back(std::string(length, 'u'));
      values.push_back(static_cast<double>(length) / 4);
      const bool is_quoted = length % 5 == 0;
      text += (is_quoted ? '"' + users.back() + '"' : users.back()) + separator + "i" + separator +
              std::to_string(values.back()) + (length % 7 == 0 ? "\r\n" : "\n");
    }
    TableOptions options = user_item_count;
    options.dialect.separator = separator;

    const Table table = read(text, options);

    EXPECT_EQ(table.labels[0], users);
    EXPECT_EQ(table.values, values);
  }
}

TEST(KeyDictionary, AgreesWithAStandardMap) {
  std::mt19937_64 random(11);
  std::unordered_map<std::string, std::uint32_t> expected;
  std::vector<std::string> order;
  KeyDictionary dictionary;
  for (int i = 0; i < 60000; ++i) {
    const std::uint64_t drawn = random() % 30000;
    const std::string key = drawn % 100 == 0 ? std::string(70000, 'k') + std::to_string(drawn)
                                             : std::string(drawn % 19, '\0') + std::to_string(drawn);
    const auto [found, is_new] = expected.try_emplace(key, static_cast<std::uint32_t>(order.size()));
    if (is_new) order.push_back(key);
    ASSERT_EQ(dictionary.number_of(key, hash_key(key)), found->second);
    if (i == 2000) break;
  }
  for (int i = 0; i < 60000; ++i) {
    const std::string key = std::to_string(random() % 30000);
    const auto [found, is_new] = expected.try_emplace(key, static_cast<std::uint32_t>(order.size()));
    if (is_new) order.push_back(key);
    ASSERT_EQ(dictionary.number_of(key, hash_key(key)), found->second);
  }

  EXPECT_GT(dictionary.memory_bytes(), 20 * order.size());
  EXPECT_EQ(dictionary.take(), Labels(order));
  EXPECT_EQ(dictionary.size(), 0U);
}

TEST(KeyDictionary, FindsManyAtOnceAsOneByOne) {
  KeyDictionary dictionary;
  std::vector<std::string> keys;
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const std::string key = std::string(i % 23, '\xff') + std::to_string(i);
    keys.insert(keys.end(), {key, key + '\0', std::string(i % 9, 'n')});
    expected.insert(expected.end(), {i, 5000, 5000});
    dictionary.number_of(key, hash_key(key));
  }

  std::vector<std::uint32_t> found;
  for (const std::string& key : keys) found.push_back(hash_key(key));
  dictionary.find_all([&](std::size_t i) { return std::string_view(keys[i]); }, found);

  EXPECT_EQ(found, expected);
}

TEST(KeyDictionary, HashesDifferInAnyByte) {
  for (std::size_t size = 0; size < 40; ++size) {
    std::string key(size, '\x80');
    const std::uint32_t hash = hash_key(key);
    for (char& c : key) {
      const char before = std::exchange(c, '\0');
      EXPECT_NE(hash_key(key), hash) << size;
      c = before;
    }
  }
}

// What is held out depends on them.
TEST(KeyDictionary, HashesStayAsTheyWere) {
  EXPECT_EQ(hash_key(""), 0U);
  EXPECT_EQ(hash_key("a"), 2839783452U);
  EXPECT_EQ(hash_key("UK"), 2404720513U);
  EXPECT_EQ(hash_key("day"), 2881430890U);
  EXPECT_EQ(hash_key("2024"), 1947697936U);
  EXPECT_EQ(hash_key("Paris"), 358508730U);
  EXPECT_EQ(hash_key("evening"), 2169438158U);
  EXPECT_EQ(hash_key("eight by"), 88600592U);
  EXPECT_EQ(hash_key("user-03330689"), 2126187739U);
  EXPECT_EQ(hash_key("sixteen letters."), 2718210574U);
  EXPECT_EQ(hash_key("nineteen characters"), 3617813395U);
}

}  // namespace
}  // namespace blco
