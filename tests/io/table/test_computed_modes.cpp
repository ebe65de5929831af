// Modes of times and numbers as the reader of tables gives them: final coordinates, labels and their order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "io/table/csv_reader.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/thread_executor.hpp"

namespace blco {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Words = std::vector<std::string>;

// A table by its labels.
struct LabelledRows {
  std::vector<Words> rows;
  std::vector<Words> labels;
  std::vector<KeyedMode> modes;
};

class ComputedModes : public testing::Test {
 protected:
  LabelledRows read(const std::string& text, const TableOptions& options, int threads = 1) const {
    ThreadExecutor executor(threads);
    const auto reader = open_csv({folder_.write("t.csv", text)}, options, executor);
    std::vector<std::vector<std::uint64_t>> points;
    CoordinateBatch batch;
    while (reader->next(batch)) {
      for (std::size_t i = 0; i < batch.count(); ++i) {
        auto& point = points.emplace_back();
        for (int n = 0; n < batch.order; ++n) point.push_back(batch.coordinate(i, n));
      }
    }
    LabelledRows table;
    const std::vector<std::uint64_t> shape = reader->declared_shape();
    const auto final_ones = reader->take_final_coordinates();
    for (const Labels& labels : reader->take_labels()) {
      EXPECT_TRUE(labels.empty() || labels.size() == shape[table.labels.size()]);
      Words& words = table.labels.emplace_back();
      for (std::uint64_t i = 0; i < labels.size(); ++i) words.emplace_back(labels[i]);
    }
    for (const auto& point : points) {
      Words& row = table.rows.emplace_back();
      for (std::size_t n = 0; n < point.size(); ++n) {
        const std::uint64_t index = final_ones[n].empty() ? point[n] : final_ones[n][point[n]];
        row.push_back(table.labels[n].empty() ? std::to_string(index) : table.labels[n][index]);
      }
    }
    table.modes = reader->keyed_modes();
    return table;
  }

  LabelledRows read_modes(const std::string& text, const Words& modes) const {
    return read(text, {.columns = {modes, ""}});
  }

  std::string refused(const std::string& text, const TableOptions& options) const {
    return message_of_error(ErrorKind::invalid_argument, [&] { read(text, options); });
  }

  static TableOptions with_known(const Words& modes, const std::vector<Words>& known) {
    TableOptions options{.columns = {modes, ""}};
    options.known = [known](const Words&) {
      std::vector<Labels> labels;
      for (const Words& words : known) labels.emplace_back(words);
      return labels;
    };
    return options;
  }

  std::string place(int line) const { return "line " + std::to_string(line) + " of " + (folder_ / "t.csv").string(); }

  TemporaryFolder folder_;
};

TEST_F(ComputedModes, OrderLabelsByTime) {
  const std::string text = "when\n2024-03-05\n2023-12-31T23:00-02:00\n1709647653\n 2024-01-07 \n";

  const LabelledRows days = read_modes(text, {"when:day"});
  const LabelledRows weekdays = read_modes(text, {"when:weekday:utc"});

  EXPECT_THAT(days.labels[0], ElementsAre("2023-12-31", "2024-01-07", "2024-03-05"));
  EXPECT_THAT(days.rows,
              ElementsAre(Words{"2024-03-05"}, Words{"2023-12-31"}, Words{"2024-03-05"}, Words{"2024-01-07"}));
  EXPECT_THAT(weekdays.labels[0], ElementsAre("Monday", "Tuesday", "Sunday"));
}

TEST_F(ComputedModes, TakeIndicesAsTheyAre) {
  const LabelledRows table = read_modes("user,item\n7,a\n 0 ,b\n7,a\n", {"user:index", "item"});

  EXPECT_THAT(table.labels, ElementsAre(Words{}, Words{"a", "b"}));
  EXPECT_THAT(table.rows, ElementsAre(Words{"7", "a"}, Words{"0", "b"}, Words{"7", "a"}));
  for (const char* field : {"-1", "1.0", "x", "4294967295", "5000000000"}) {
    EXPECT_THAT(refused(std::string("user\n3\n") + field + "\n", {.columns = {{"user:index"}, ""}}),
                HasSubstr("'" + std::string(field) + "' is no index, a whole number from 0"));
  }
}

TEST_F(ComputedModes, TakeIndicesAmongKnownKeysAsTheyAre) {
  TableOptions options = with_known({"user:index", "item"}, {{"b", "a"}});
  options.numbers_new_keys = false;
  options.skips_unknown = true;

  const LabelledRows table = read("user,item\n7,a\n9,new\n0,b\n", options);

  EXPECT_THAT(table.rows, ElementsAre(Words{"7", "a"}, Words{"0", "b"}));
}

TEST_F(ComputedModes, HaveUnitsWithoutRowsWhereAsked) {
  const std::string text = "when\n2024-03-01T01:30\n2024-02-28T22:00\n";

  EXPECT_THAT(read_modes(text, {"when:day:every"}).labels[0], ElementsAre("2024-02-28", "2024-02-29", "2024-03-01"));
  EXPECT_THAT(read_modes(text, {"when:month:every"}).labels[0], ElementsAre("2024-02", "2024-03"));
  EXPECT_EQ(read_modes(text, {"when:hour:every"}).labels[0].size(), 28u);
  EXPECT_EQ(read_modes(text, {"when:hour:every"}).rows[0], Words{"2024-03-01T01"});
}

TEST_F(ComputedModes, TakeSeveralModesFromOneColumn) {
  const LabelledRows table = read_modes("user,when\nann,2024-03-05T14:00\nbob,2024-03-04T14:30\n",
                                        {"when:day", "user", "when:hour-of-day", "when"});

  EXPECT_THAT(table.rows[1], ElementsAre("2024-03-04", "bob", "14", "2024-03-04T14:30"));
  EXPECT_THAT(table.labels[2], ElementsAre("14"));
  EXPECT_EQ(table.modes[0].name, "when:day");
  EXPECT_EQ(table.modes[1].name, "user");
  EXPECT_EQ(table.modes[3].name, "when");
}

TEST_F(ComputedModes, PutNumbersInBins) {
  const std::string text = "price\n10\n 0\n-0.0\n2.5\n9.99\n1e0\n";

  const LabelledRows bins = read_modes(text, {"price:bins=4"});
  const LabelledRows quantiles = read_modes(text, {"price:quantiles=3"});

  EXPECT_THAT(bins.labels[0], ElementsAre("[0, 2.5)", "[2.5, 5)", "[5, 7.5)", "[7.5, 10]"));
  EXPECT_THAT(bins.rows, ElementsAre(Words{"[7.5, 10]"}, Words{"[0, 2.5)"}, Words{"[0, 2.5)"}, Words{"[2.5, 5)"},
                                     Words{"[7.5, 10]"}, Words{"[0, 2.5)"}));
  EXPECT_THAT(quantiles.labels[0], ElementsAre("[0, 1)", "[1, 9.99)", "[9.99, 10]"));
  EXPECT_EQ(quantiles.modes[0].bins, 3u);
}

TEST_F(ComputedModes, SayHowManyBinsThereAre) {
  const LabelledRows table = read_modes("price\n1\n1\n1\n2\n", {"price:quantiles=4", "price:bins=9"});

  EXPECT_THAT(table.labels[0], ElementsAre("[1, 2)", "[2, 2]"));
  EXPECT_EQ(table.modes[0].wanted_bins, 4u);
  EXPECT_EQ(table.modes[0].bins, 2u);
  EXPECT_EQ(table.modes[1].bins, 9u);
}

TEST_F(ComputedModes, GiveMissingFieldsTheLastLabel) {
  TableOptions options{.columns = {{"when:day:every", "price:bins=2", "price:quantiles=2"}, ""}};
  options.missing = {true, "none"};
  const std::string text = "when,price\nNA,1\n2024-03-05,null\n2024-03-03,3\n";

  const LabelledRows table = read(text, options);

  EXPECT_THAT(table.labels[0], ElementsAre("2024-03-03", "2024-03-04", "2024-03-05", "none"));
  EXPECT_THAT(table.labels[1], ElementsAre("[1, 2)", "[2, 3]", "none"));
  EXPECT_THAT(table.labels[2], ElementsAre("[1, 3)", "[3, 3]", "none"));
  EXPECT_THAT(table.rows[0], ElementsAre("none", "[1, 2)", "[1, 3)"));
  EXPECT_THAT(table.rows[1], ElementsAre("2024-03-05", "none", "none"));
}

TEST_F(ComputedModes, TakeBlanksForMissing) {
  TableOptions options{.columns = {{"when:day", "price:bins=2"}, ""}};
  options.missing = {true, ""};

  const LabelledRows table = read("when,price\n ,1\n2024-03-05, NA\n2024-03-05,2\n2024-03-06,3\n", options);

  EXPECT_THAT(table.labels[0], ElementsAre("2024-03-05", "2024-03-06"));
  EXPECT_EQ(table.rows.size(), 2u);
}

TEST_F(ComputedModes, MayBeMissingAlone) {
  TableOptions options{.columns = {{"when:day:every", "price:bins=2", "price:quantiles=2"}, ""}};
  options.missing = {true, "none"};

  for (const Words& labels : read("when,price\nNA,NA\n", options).labels) EXPECT_THAT(labels, ElementsAre("none"));
}

TEST_F(ComputedModes, TakeAMissingKeyThatTheyReadForWhatItSays) {
  TableOptions options{.columns = {{"when:day", "price:bins=2"}, ""}};
  options.missing = {true, "0"};

  const LabelledRows table = read("when,price\nNA,NaN\n2024-03-05,2\n", options);

  EXPECT_THAT(table.labels[0], ElementsAre("1970-01-01", "2024-03-05"));
  EXPECT_THAT(table.labels[1], ElementsAre("[0, 1)", "[1, 2]"));
}

TEST_F(ComputedModes, TakeADecimalComma) {
  TableOptions options{.columns = {{"price:bins=2"}, ""}};
  options.dialect.decimal = ',';
  options.dialect.separator = ';';

  EXPECT_THAT(read("price;x\n1,5;\n2;\n", options).labels[0], ElementsAre("[1.5, 1.75)", "[1.75, 2]"));
  EXPECT_THAT(refused("price;x\n1.5;\n", options), HasSubstr("'1.5' is not a number, and has no bin"));
}

TEST_F(ComputedModes, KeepTheNumbersOfKnownTimes) {
  const std::string text = "when\n2024-03-07\n2024-03-03\n2024-03-01\n";
  const Words known = {"2024-03-05", "2024-03-03"};

  const LabelledRows some = read(text, with_known({"when:day"}, {known}));
  const LabelledRows all = read(text, with_known({"when:day:every"}, {known}));

  EXPECT_THAT(some.labels[0], ElementsAre("2024-03-05", "2024-03-03", "2024-03-01", "2024-03-07"));
  EXPECT_THAT(all.labels[0], ElementsAre("2024-03-05", "2024-03-03", "2024-03-01", "2024-03-02", "2024-03-04",
                                         "2024-03-06", "2024-03-07"));
  EXPECT_EQ(all.rows, some.rows);
  EXPECT_EQ(all.modes[0].new_labels, 2u);
}

TEST_F(ComputedModes, TakeTheBinsThatAreKnown) {
  const Words known = {"[0, 1)", "[1, 5)", "[5, 5]"};
  const std::string text = "price\n5\n4.5\n0\n";
  TableOptions with_missing = with_known({"price:bins=3"}, {{"[0, 1)", "[1, 5]", "none"}});
  with_missing.missing = {true, "none"};

  EXPECT_EQ(read(text, with_known({"price:quantiles=3"}, {known})).labels[0], known);
  EXPECT_EQ(read(text, with_known({"price:quantiles=3"}, {known})).rows,
            (std::vector<Words>{{"[5, 5]"}, {"[1, 5)"}, {"[0, 1)"}}));
  EXPECT_EQ(read("price\nnone\n5\n", with_missing).rows, (std::vector<Words>{{"none"}, {"[1, 5]"}}));
  EXPECT_EQ(refused("price\n1\n5.5\n", with_known({"price:bins=3"}, {known})),
            place(3) +
                ": column 1, 'price', '5.5' lies outside of the bins of `columns.labels_from`, which are from 0 "
                "to 5; remove the row, or leave out `columns.labels_from` to make new bins");
}

TEST_F(ComputedModes, RefuseLabelsThatAreNotTheirs) {
  EXPECT_EQ(
      refused("when\n2024-03-05\n", with_known({"when:day"}, {{"2024-03-04", "2024-03"}})),
      "the mode 'when' of `columns.labels_from` has the label '2024-03', which is no day; read the column as that "
      "container did, with the same `columns.missing`, or leave out `columns.labels_from`");
  EXPECT_THAT(refused("price\n1\n", with_known({"price:bins=2"}, {{"[0, 1)", "x"}})),
              HasSubstr("and all its labels together are not those of bins"));
  EXPECT_THAT(refused("price\n1\n", with_known({"price:bins=2"}, {{"[0, 1)", "[1, 2)", "[2, 3]"}})),
              HasSubstr("has 3 bins, but `columns.modes` asks for 2"));
}

TEST_F(ComputedModes, NameTheFieldThatTheyRefuse) {
  const TableOptions days{.columns = {{"when:day"}, ""}};
  const TableOptions bins{.columns = {{"price:bins=3"}, ""}};

  EXPECT_EQ(refused("x,when\n,2024-03-05\n,03/05/2024\n", days),
            place(3) +
                ": column 2, 'when', '03/05/2024' is no time in the form of ISO 8601, such as "
                "2024-03-05T14:07:33+01:00, and no number of seconds since 1970; rewrite the column, or leave "
                "out :day to take its fields as they are");
  EXPECT_THAT(refused("when\n2023-02-29\n", days), HasSubstr("'2023-02-29' is a date or time that does not exist"));
  EXPECT_THAT(refused("when\n2023-02\n", days), HasSubstr("'2023-02' does not say which day it means"));
  EXPECT_THAT(refused("when\n202302\n", days), HasSubstr("may be the month 2023-02"));
  EXPECT_THAT(refused("when\n0000-01-01\n", days), HasSubstr("lies outside of the years 0001 to 9999"));
  EXPECT_THAT(refused("when\n5\n", {.columns = {{"when:weekday"}, ""}}),
              HasSubstr("'5' is no weekday and has too few digits"));
  EXPECT_THAT(refused("when,x\n  ,y\n", days), HasSubstr("column 1, 'when', is empty"));
  EXPECT_THAT(refused("price\nmany\n", bins), HasSubstr("'many' is not a number, and has no bin"));
  EXPECT_THAT(refused("price\ninf\n", bins), HasSubstr("'inf' is not finite, and has no bin"));
}

TEST_F(ComputedModes, AreTheSameWhereverBlocksAreCutAndOnAnyThreads) {
  std::mt19937_64 random(3);
  std::string text = "when,price\n";
  for (int i = 0; i < 700; ++i) {
    text += std::to_string(1'700'000'000 + static_cast<std::int64_t>(random() % 3'000'000)) + "," +
            std::to_string(random() % 200) + "." + std::to_string(random() % 4) + "\n";
  }
  TableOptions options{.columns = {{"when:hour", "price:bins=7", "price:quantiles=9", "when:day:every"}, ""}};
  const LabelledRows expected = read(text, options);
  ASSERT_EQ(expected.rows.size(), 700u);
  for (const std::size_t block_bytes : {32, 100, 1000, 5000}) {
    for (const int threads : {1, 3}) {
      options.block_bytes = block_bytes;

      const LabelledRows table = read(text, options, threads);

      EXPECT_EQ(table.rows, expected.rows) << block_bytes << " bytes, " << threads << " threads";
      EXPECT_EQ(table.labels, expected.labels);
    }
  }
}

TEST_F(ComputedModes, NameTheirNumbersWhereKeysTakeTooMuchMemory) {
  std::string text = "price\n";
  for (int i = 0; i < 30000; ++i) text += std::to_string(i) + "\n";
  TableOptions options{.columns = {{"price:bins=3"}, ""}};
  options.block_bytes = 4096;
  options.key_bytes = 200 << 10;
  options.memory_bytes = 400 << 10;

  const std::string message = message_of_error(ErrorKind::out_of_memory, [&] { read(text, options); });

  EXPECT_THAT(message, HasSubstr("each number of the mode 'price' is a key until the input has ended: round them"));
}

TEST_F(ComputedModes, RefuseMoreUnitsThanFit) {
  TableOptions options{.columns = {{"when:minute:every"}, ""}};
  options.key_bytes = 1 << 20;

  const std::string message =
      message_of_error(ErrorKind::out_of_memory, [&] { read("when\n1999-01-01\n2000-01-01\n", options); });

  EXPECT_EQ(
      message,
      "the mode 'when' would have a label for each minute from 1999-01-01T00:00 to 2000-01-01T00:00, 525601, which "
      "take 13 MiB of memory, but the budget leaves 1 MiB; raise `memory_bytes`, correct times that are far from "
      "the others, or leave out :every");
  EXPECT_THAT(refused("when\n0001-01-01\n9999-01-01\n", options), HasSubstr("but a mode has at most 2^32 - 2 keys"));
}

}  // namespace
}  // namespace blco
