// Tables that come as Arrow streams: types, offsets, bitmaps and dictionaries, whatever batches they come in, and what
// is said of cells that are not acceptable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "io/arrow/arrow_reader.hpp"
#include "tests/arrow_arrays.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/thread_executor.hpp"

namespace blco {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Batches = std::vector<HandStream::Batch>;
using Names = std::vector<std::string>;

// Rows by their labels, or by their coordinates where a mode has none.
struct ArrowRows {
  std::vector<Names> rows;
  std::vector<double> values;
  std::vector<Names> labels;
  std::vector<std::uint64_t> shape;
  std::vector<SkippedRows> skipped;
  std::uint64_t unknown = 0;
};

struct ArrowChoice {
  std::vector<std::uint64_t> shape = {};
  std::uint64_t max_bytes = ~std::uint64_t{0};
  int threads = 1;
};

ArrowRows read_stream(HandStream& stream, const TableOptions& options, const ArrowChoice& choice = {}) {
  ThreadExecutor executor(choice.threads);
  const auto reader = open_arrow(ArrowStream(stream.stream()), options, choice.shape, choice.max_bytes, executor);
  std::vector<std::vector<std::uint64_t>> points;
  ArrowRows table;
  CoordinateBatch batch;
  while (reader->next(batch)) {
    EXPECT_GT(batch.count(), 0U);
    for (std::size_t i = 0; i < batch.count(); ++i) {
      auto& point = points.emplace_back();
      for (int n = 0; n < batch.order; ++n) {
        point.push_back(batch.coordinate(i, n));
        EXPECT_LE(point.back(), batch.upper[static_cast<std::size_t>(n)]);
      }
    }
    table.values.insert(table.values.end(), batch.values.begin(), batch.values.end());
  }
  table.shape = reader->declared_shape();
  const auto final_ones = reader->take_final_coordinates();
  for (const Labels& labels : reader->take_labels()) {
    Names& names = table.labels.emplace_back();
    for (std::uint64_t i = 0; i < labels.size(); ++i) names.emplace_back(labels[i]);
  }
  for (const auto& point : points) {
    Names& row = table.rows.emplace_back();
    for (std::size_t n = 0; n < point.size(); ++n) {
      const std::uint64_t at = final_ones[n].empty() ? point[n] : final_ones[n][point[n]];
      row.push_back(table.labels[n].empty() ? std::to_string(at) : table.labels[n][at]);
    }
  }
  table.skipped = reader->skipped_rows();
  table.unknown = reader->unknown_rows();
  return table;
}

ArrowRows read_batches(const Batches& batches, const TableOptions& options, const ArrowChoice& choice = {}) {
  HandStream stream(batches);
  ArrowRows rows = read_stream(stream, options, choice);
  EXPECT_EQ(stream.stream_releases(), 1);
  EXPECT_EQ(stream.alive(), 0);
  return rows;
}

std::string refused_batches(const Batches& batches, const TableOptions& options, const ArrowChoice& choice = {},
                            ErrorKind kind = ErrorKind::invalid_argument) {
  HandStream stream(batches);
  const std::string message = message_of_error(kind, [&] { read_stream(stream, options, choice); });
  EXPECT_EQ(stream.stream_releases(), 1);
  EXPECT_EQ(stream.alive(), 0);
  return message;
}

TableOptions modes_and_value(const Names& modes, const std::string& value = "") { return {.columns = {modes, value}}; }

TEST(ArrowReader, TakesWholeNumbersForKeysAsTextHasThem) {
  const Batches batches = {{numbers<std::int64_t>("user", "l", {1'000'000'007, -5, 1'000'000'007})}};

  EXPECT_THAT(read_batches(batches, modes_and_value({"user"})).labels, ElementsAre(Names{"1000000007", "-5"}));
}

TEST(ArrowReader, TakesIndicesWhereAskedAndStringsForKeys) {
  const Batches batches = {{texts("who", {"Ann", "Bob", "Ann"}), numbers<std::int64_t>("day", "l", {0, 2, 1}),
                            numbers<float>("unused", "f", {9, 9, 9}), numbers<double>("n", "g", {2, 1, 4})},
                           {texts("who", {"Cid", "Bob"}), numbers<std::int64_t>("day", "l", {5'000'000'000, 0}),
                            numbers<float>("unused", "f", {9, 9}), numbers<double>("n", "g", {0.5, -3})}};

  const ArrowRows table = read_batches(batches, modes_and_value({"who", "day:index"}, "n"));

  EXPECT_THAT(table.rows, ElementsAre(Names{"Ann", "0"}, Names{"Bob", "2"}, Names{"Ann", "1"},
                                      Names{"Cid", "5000000000"}, Names{"Bob", "0"}));
  EXPECT_THAT(table.values, ElementsAre(2, 1, 4, 0.5, -3));
  EXPECT_THAT(table.labels, ElementsAre(Names{"Ann", "Bob", "Cid"}, Names{}));
  EXPECT_THAT(table.shape, ElementsAre(3, 5'000'000'001));
}

TEST(ArrowReader, ReadsIndicesOfEveryWidth) {
  HandStream::Batch batch = {numbers<std::int8_t>("c", "c", {7, 127}),
                             numbers<std::uint8_t>("C", "C", {7, 255}),
                             numbers<std::int16_t>("s", "s", {7, 32767}),
                             numbers<std::uint16_t>("S", "S", {7, 65535}),
                             numbers<std::int32_t>("i", "i", {7, 2147483647}),
                             numbers<std::uint32_t>("I", "I", {7, 4294967295}),
                             numbers<std::int64_t>("l", "l", {7, std::numeric_limits<std::int64_t>::max()}),
                             numbers<std::uint64_t>("L", "L", {7, 18446744073709551614U})};

  const ArrowRows table = read_batches({batch}, modes_and_value({"c:index", "C:index", "s:index", "S:index", "i:index",
                                                                 "I:index", "l:index", "L:index"}));

  EXPECT_EQ(table.rows[0], Names(8, "7"));
  EXPECT_THAT(table.rows[1], ElementsAre("127", "255", "32767", "65535", "2147483647", "4294967295",
                                         "9223372036854775807", "18446744073709551614"));
  EXPECT_THAT(table.values, ElementsAre(1, 1));
}

TEST(ArrowReader, ReadsTextsOfEveryLayout) {
  const Names cells = {"exactly12byt", "a", "thirteen byte", "a", "quite a long text indeed"};

  const ArrowRows table = read_batches({{texts("u", cells), texts<std::int64_t>("U", cells), text_views("vu", cells)}},
                                       modes_and_value({"u", "U", "vu"}));

  for (std::size_t i = 0; i < cells.size(); ++i) EXPECT_EQ(table.rows[i], Names(3, cells[i]));
}

TEST(ArrowReader, ReadsSlicesOfColumnsAndOfBatches) {
  const Names garbage_first = {"", "x", "", "Ann", "Bob"};
  HandStream stream(
      Batches{{with_nulls(texts("who", garbage_first), {false, true, false, true, true}).from(2),
               numbers<std::int32_t>("day", "i", {-1, -1, -1, -1, 3, 4}).from(3),
               flags("old", {false, true, true, false}).from(1),
               with_nulls(coded<std::uint8_t>("what", "C", {9, 9, 0, 1}, texts("", {"?", "tea", "jam"}).from(1)),
                          {false, false, true, true})
                   .from(1)}});

  const ArrowRows table = read_stream(stream.skip(1), modes_and_value({"who", "day", "old", "what"}));

  EXPECT_THAT(table.rows, ElementsAre(Names{"Ann", "3", "true", "tea"}, Names{"Bob", "4", "false", "jam"}));
}

TEST(ArrowReader, NumbersTheKeysOfDictionariesThatDiffer) {
  const HandArray first = texts("", {"never", "tea", "jam"});
  const HandArray second = texts<>("", {"jam", "milk", "tea"});
  const Batches batches = {{coded<std::int16_t>("what", "s", {2, 1, 2}, first)},
                           {coded<std::int16_t>("what", "s", {0, 2, 1, 0}, second)},
                           {coded<std::int16_t>("what", "s", {1}, second)}};

  const ArrowRows table = read_batches(batches, modes_and_value({"what"}));

  EXPECT_THAT(table.labels, ElementsAre(Names{"jam", "tea", "milk"}));
  EXPECT_THAT(table.rows, ElementsAre(Names{"jam"}, Names{"tea"}, Names{"jam"}, Names{"jam"}, Names{"tea"},
                                      Names{"milk"}, Names{"jam"}, Names{"milk"}));
}

// Of more keys than one task looks up, some of them known from the batch before, some missing, and one used by no row.
TEST(ArrowReader, NumbersKeysOfLongDictionariesAsThoseOfTheirTexts) {
  std::mt19937 random(6);
  Batches coded_batches;
  Batches text_batches;
  for (int batch = 0; batch < 3; ++batch) {
    Names listed;
    for (int key = 0; key < 9000; ++key)
      listed.push_back(key % 100 == 0 ? "" : "key " + std::to_string(key * (batch + 1)));
    std::shuffle(listed.begin(), listed.end(), random);
    std::vector<std::int16_t> codes;
    Names cells;
    for (int row = 0; row < 6000; ++row) {
      codes.push_back(static_cast<std::int16_t>(random() % 8999));
      cells.push_back(listed[static_cast<std::size_t>(codes.back())]);
    }
    coded_batches.push_back({coded("what", "s", codes, texts("", listed))});
    text_batches.push_back({texts("what", cells)});
  }
  TableOptions options = modes_and_value({"what"});
  options.missing = {.are_accepted = true, .key = ""};

  const ArrowRows expected = read_batches(text_batches, options);

  for (const int threads : {1, 3}) {
    const ArrowRows table = read_batches(coded_batches, options, {.threads = threads});

    EXPECT_EQ(table.labels, expected.labels);
    EXPECT_EQ(table.rows, expected.rows);
  }
}

TEST(ArrowReader, TakesDictionariesOfNumbersForKeysAndForValues) {
  const HandArray codes = coded<std::int32_t>("shop", "i", {1, 0, 1}, numbers<std::int64_t>("", "l", {-7, 40}));
  const HandArray prices = coded<std::int32_t>("price", "i", {0, 0, 1}, numbers<float>("", "f", {2.5, -1}));

  const ArrowRows table = read_batches({{codes, prices}}, modes_and_value({"shop"}, "price"));

  EXPECT_THAT(table.labels, ElementsAre(Names{"40", "-7"}));
  EXPECT_THAT(table.values, ElementsAre(2.5, 2.5, -1));
}

TEST(ArrowReader, ReadsValuesOfEveryType) {
  // -1234.56, and 2^64 + 5, as 128-bit numbers with two digits behind the point.
  const HandArray decimals =
      numbers<std::uint64_t>("d", "d:38,2", {static_cast<std::uint64_t>(-123456), ~std::uint64_t{0}, 5, 1});
  HandArray two = decimals;
  two.length = 2;
  const std::vector<std::pair<HandArray, std::vector<double>>> cases = {
      {numbers<std::int8_t>("n", "c", {-3, 4}), {-3, 4}},
      {numbers<std::uint64_t>("n", "L", {0, std::uint64_t{1} << 63}), {0, 9223372036854775808.0}},
      {numbers<float>("n", "f", {0.1F, -2}), {static_cast<double>(0.1F), -2}},
      {flags("n", {true, false}), {1, 0}},
      {texts("n", {" 1.5", "-2e3"}), {1.5, -2000}},
      {two, {-1234.56, 184467440737095516.21}}};
  for (const auto& [column, expected] : cases) {
    const ArrowRows table =
        read_batches({{numbers<std::int8_t>("i", "c", {0, 1}), column}}, modes_and_value({"i"}, column.name));

    EXPECT_EQ(table.values, expected) << column.format;
  }
}

TEST(ArrowReader, ReadsFloatsOf16Bits) {
  const std::vector<std::pair<std::uint16_t, double>> cells = {
      {0x3c00, 1},           {0x3555, 0.333251953125},    {0xc100, -2.5},     {0x7bff, 65504},
      {0x0400, 0x1p-14},     {0x03ff, 0x1p-14 - 0x1p-24}, {0x8001, -0x1p-24}, {0x0000, 0},
      {0x7e00, std::nan("")}};
  std::vector<std::uint16_t> bits;
  std::vector<double> expected;
  std::vector<std::int32_t> indices;
  for (const auto& [half, number] : cells) {
    indices.push_back(static_cast<std::int32_t>(bits.size()));
    bits.push_back(half);
    if (number == number) expected.push_back(number);
  }
  const HandArray rows = numbers("i", "i", indices);
  TableOptions options = modes_and_value({"i"}, "x");
  options.missing = {.are_accepted = true, .key = ""};

  const ArrowRows table = read_batches({{rows, numbers("x", "e", bits)}}, options);
  bits.back() = 0xfc00;

  EXPECT_EQ(table.values, expected);
  EXPECT_THAT(refused_batches({{rows, numbers("x", "e", bits)}}, options),
              HasSubstr("row 8 of column 'x', counted from 0: -inf is not finite"));
}

TEST(ArrowReader, NamesRowAndColumnOfMissingCells) {
  const HandStream::Batch whole = {texts("who", {"a", "b"}), numbers<std::int64_t>("i", "l", {0, 1}),
                                   numbers<double>("n", "g", {1, 2})};
  const auto with = [&](std::size_t column, const HandArray& array) {
    HandStream::Batch batch = whole;
    batch[column] = array;
    return refused_batches({whole, batch}, modes_and_value({"who", "i:index"}, "n"));
  };
  const std::string skip = "; fill it in, or leave such rows out with `columns.missing = skip`";
  const std::string key = ", or give `columns.missing = unknown` to make one key of all missing ones";

  EXPECT_EQ(with(0, with_nulls(whole[0], {true, false})),
            "row 3 of column 'who', counted from 0, is null" + skip + key);
  EXPECT_EQ(with(0, texts("who", {"", "b"})), "row 2 of column 'who', counted from 0, is empty" + skip + key);
  EXPECT_EQ(with(1, with_nulls(whole[1], {true, false})), "row 3 of column 'i', counted from 0, is null" + skip);
  EXPECT_EQ(with(2, numbers<double>("n", "g", {1, std::numeric_limits<double>::quiet_NaN()})),
            "row 3 of column 'n', counted from 0, is NaN, a missing field" + skip);
}

TEST(ArrowReader, LeavesOutRowsWithMissingCellsAndTheirKeys) {
  // A null in the dictionary, a null code, and an empty string.
  const HandArray what = with_nulls(coded<std::int8_t>("what", "c", {0, 1, 0, 2, 99},
                                                       with_nulls(texts("", {"tea", "?", "jam"}), {true, false, true})),
                                    {true, true, true, true, false});
  TableOptions options = modes_and_value({"who", "what"}, "n");
  options.missing = {.are_accepted = true, .key = ""};

  const ArrowRows table =
      read_batches({{texts("who", {"a", "lost", "", "b", "lost"}), what,
                     with_nulls(numbers<std::int32_t>("n", "i", {1, 2, 3, 4, 5}), {true, true, true, true, false})}},
                   options);

  EXPECT_THAT(table.rows, ElementsAre(Names{"a", "tea"}, Names{"b", "jam"}));
  EXPECT_THAT(table.values, ElementsAre(1, 4));
  EXPECT_THAT(table.labels, ElementsAre(Names{"a", "b"}, Names{"tea", "jam"}));
  ASSERT_EQ(table.skipped.size(), 2U);
  EXPECT_EQ(table.skipped[0].column + std::to_string(table.skipped[0].rows), "who1");
  EXPECT_EQ(table.skipped[1].column + std::to_string(table.skipped[1].rows), "what2");
}

TEST(ArrowReader, PutsAKeyInThePlaceOfMissingOnes) {
  const HandArray when = with_nulls(numbers<std::int32_t>("when", "tdD", {0, 77, 1}), {true, false, true});
  TableOptions options = modes_and_value({"who", "when:day"}, "n");
  options.missing = {.are_accepted = true, .key = "none"};

  const ArrowRows table = read_batches(
      {{texts("who", {"", "b", "none"}), when, with_nulls(numbers<double>("n", "g", {1, 2, 3}), {true, true, false})}},
      options);

  EXPECT_THAT(table.rows, ElementsAre(Names{"none", "1970-01-01"}, Names{"b", "none"}));
  EXPECT_THAT(refused_batches({{texts("who", {"a"}), with_nulls(numbers<std::int32_t>("when", "i", {0}), {false}),
                                numbers<double>("n", "g", {1})}},
                              [&] {
                                TableOptions index = options;
                                index.columns.modes = {"who", "when:index"};
                                return index;
                              }()),
              HasSubstr("row 0 of column 'when', counted from 0, is null, and no key goes in the place of an index"));
}

// 1969-12-31T23:59:59, and 2024-03-05T14:07:33, in each type's units.
TEST(ArrowReader, ReadsDatesAndTimesOfEveryUnit) {
  const std::int64_t late = 1'709'647'653;
  const std::vector<HandArray> columns = {
      numbers<std::int64_t>("t", "tss:", {-1, late}),
      numbers<std::int64_t>("t", "tsm:-00:00", {-1, late * 1000 + 999}),
      numbers<std::int64_t>("t", "tsu:UTC", {-1, late * 1'000'000}),
      numbers<std::int64_t>("t", "tsn:", {-1, late * 1'000'000'000}),
      numbers<std::int32_t>("t", "tdD", {-1, 19787}),
      numbers<std::int64_t>("t", "tdm", {-86'400'000, 1'709'596'800'000}),
      texts("t", {"1969-12-31T23:59:59", "2024-03-05 14:07"}),
      coded<std::int8_t>("t", "c", {1, 0}, numbers<std::int64_t>("", "tss:", {late, -1}))};
  for (const HandArray& column : columns) {
    const ArrowRows table = read_batches({{column}}, modes_and_value({"t:day", "t:weekday"}));

    EXPECT_THAT(table.rows, ElementsAre(Names{"1969-12-31", "Wednesday"}, Names{"2024-03-05", "Tuesday"}))
        << column.format;
  }
  for (const HandArray& column :
       {numbers<std::int64_t>("t", "l", {-100'000, late}), numbers<double>("t", "g", {-100'000, 1709647653.25})}) {
    EXPECT_THAT(read_batches({{column}}, modes_and_value({"t:day", "t:weekday"})).rows,
                ElementsAre(Names{"1969-12-30", "Tuesday"}, Names{"2024-03-05", "Tuesday"}));
  }
  EXPECT_THAT(read_batches({{columns[1]}}, modes_and_value({"t:minute"})).rows,
              ElementsAre(Names{"1969-12-31T23:59"}, Names{"2024-03-05T14:07"}));
  // Clocks in Paris were an hour ahead of UTC on both days.
  const Batches paris = {{numbers<std::int64_t>("t", "tss:Europe/Paris", {-1, late})}};
  EXPECT_THAT(read_batches(paris, modes_and_value({"t:minute"})).rows,
              ElementsAre(Names{"1970-01-01T00:59"}, Names{"2024-03-05T15:07"}));
  EXPECT_THAT(read_batches({{columns[0]}}, modes_and_value({"t:year:every"})).labels[0].size(), 56U);
}

TEST(ArrowReader, PutsNumbersIntoBins) {
  const std::vector<HandArray> columns = {
      numbers<double>("x", "g", {0, 10, 4, 5}), numbers<std::int8_t>("x", "c", {0, 10, 4, 5}),
      texts("x", {"0", "10.0", " 4", "5e0"}), numbers<std::uint64_t>("x", "d:5,1", {0, 0, 100, 0, 40, 0, 50, 0})};
  for (HandArray column : columns) {
    column.length = 4;
    const ArrowRows table = read_batches({{column}}, modes_and_value({"x:bins=2"}));

    EXPECT_THAT(table.rows, ElementsAre(Names{"[0, 5)"}, Names{"[5, 10]"}, Names{"[0, 5)"}, Names{"[5, 10]"}))
        << column.format;
  }
  EXPECT_THAT(read_batches({{numbers<float>("x", "f", {1, 1, 1, 8, 9, 9})}}, modes_and_value({"x:quantiles=2"})).labels,
              ElementsAre(Names{"[1, 8)", "[8, 9]"}));
}

TEST(ArrowReader, NamesRowAndColumnOfCellsThatItRefuses) {
  const HandArray good = numbers<std::int64_t>("i", "l", {0, 1});
  const auto refused = [&](const HandArray& bad, const TableOptions& options, const ArrowChoice& choice = {}) {
    return refused_batches({{bad, good}}, options, choice);
  };
  const TableOptions x = modes_and_value({"x"});

  const TableOptions index = modes_and_value({"x:index"});
  EXPECT_EQ(refused(numbers<std::int64_t>("x", "l", {3, -7}), index),
            "row 1 of column 'x', counted from 0: the coordinate -7 is negative; coordinates count from 0");
  EXPECT_EQ(refused(numbers<std::uint8_t>("x", "C", {3, 7}), index, {.shape = {7}}),
            "row 1 of column 'x', counted from 0: the coordinate 7 is not below the mode's length of 7; coordinates "
            "count from 0");
  EXPECT_THAT(refused(numbers<std::uint64_t>("x", "L", {0, ~std::uint64_t{0}}), index),
              HasSubstr("18446744073709551615"));
  EXPECT_THAT(refused(texts("x", {"a", "b\xff"}), x), HasSubstr("row 1 of column 'x', counted from 0: 'b"));
  EXPECT_THAT(refused(texts("x", {"2024-01-01", "May 5"}), modes_and_value({"x:day"})),
              HasSubstr("row 1 of column 'x', counted from 0: 'May 5' is no time in the form of ISO 8601"));
  EXPECT_THAT(refused(numbers<std::int64_t>("x", "tss:", {0, 300'000'000'000}), modes_and_value({"x:day"})),
              HasSubstr("row 1 of column 'x', counted from 0: the time lies outside of the years 0001 to 9999"));
  EXPECT_THAT(refused(numbers<double>("x", "g", {0, HUGE_VAL}), modes_and_value({"x:bins=2"})),
              HasSubstr("row 1 of column 'x', counted from 0: 'inf' is not finite, and has no bin"));
  EXPECT_THAT(refused(numbers<double>("x", "g", {0, -HUGE_VAL}), modes_and_value({"i"}, "x")),
              HasSubstr("row 1 of column 'x', counted from 0: -inf is not finite; replace it"));
  EXPECT_THAT(refused(texts("x", {"1", "1,5"}), modes_and_value({"i"}, "x")),
              HasSubstr("row 1 of column 'x', counted from 0: '1,5' is not a number; if its comma is a decimal comma"));
  EXPECT_THAT(
      refused(coded<std::int8_t>("x", "c", {1, -2}, texts("", {"a", "b"})), x),
      HasSubstr("row 1 of column 'x', counted from 0: the code -2 is none of its dictionary, which has 2 entries"));
  EXPECT_THAT(refused_batches({{texts("x", {"1", "2"})}, {texts("x", {})}, {texts("x", {"3", "x"})}},
                              modes_and_value({"x:bins=2"})),
              HasSubstr("row 3 of column 'x', counted from 0: 'x' is not a number, and has no bin"));
}

TEST(ArrowReader, NamesColumnAndTypeThatItCannotRead) {
  const auto refused = [](const std::string& format, const std::string& mode, const std::string& value = "") {
    return refused_batches({{numbers<std::int64_t>("x", format, {1}), numbers<std::int64_t>("i", "l", {1})}},
                           modes_and_value({mode}, value));
  };
  const std::string either = "a mode takes whole numbers or strings: cast it to one of them";

  EXPECT_EQ(refused("g", "x"), "column 'x' has the type double; " + either + ", or ask for bins, such as x:bins=10");
  EXPECT_EQ(refused("tsu:Asia/Tokyo", "x"), "column 'x' has the type timestamp[us, tz=Asia/Tokyo]; " + either +
                                                ", or name a unit of time, such as x:day");
  EXPECT_EQ(refused("+l", "x"), "column 'x' has the type list; " + either);
  EXPECT_EQ(refused("+w:3", "x"), "column 'x' has the type '+w:3'; " + either);
  EXPECT_EQ(
      refused("b", "x:day"),
      "column 'x' has the type bool; a mode of times takes timestamps, dates, strings, or numbers since 1970: cast "
      "it to one of them");
  EXPECT_EQ(refused("tdD", "x:bins=3"), "column 'x' has the type date32[day]; bins are of numbers: cast it to float64");
  EXPECT_EQ(refused("tss:", "i", "x"), "column 'x' has the type timestamp[s]; values are numbers: cast it to float64");
  EXPECT_EQ(refused("d:60,2,256", "i", "x"),
            "column 'x' has the type decimal(60,2,256); only decimals of 128 bits are read: cast it to decimal128 or "
            "float64");
  EXPECT_THAT(refused("l", "y"), HasSubstr("the table has no column 'y', which `columns.modes` asks for; its columns "
                                           "are: x, i"));
  EXPECT_THAT(refused("l", "x", "x"), HasSubstr("both name the column 'x'"));
}

TEST(ArrowReader, NumbersKnownKeysAndLeavesOutOthers) {
  TableOptions options = modes_and_value({"i:index", "who"});
  options.numbers_new_keys = false;
  options.skips_unknown = true;
  options.known = [](const Names& modes) {
    EXPECT_THAT(modes, ElementsAre("who"));
    return std::vector<Labels>{Labels(Names{"Zoe", "Bob"})};
  };

  const ArrowRows table =
      read_batches({{texts("who", {"Bob", "Ann", "Zoe"}), numbers<std::int16_t>("i", "s", {4, 5, 6})}}, options);

  EXPECT_THAT(table.rows, ElementsAre(Names{"4", "Bob"}, Names{"6", "Zoe"}));
  EXPECT_THAT(table.labels, ElementsAre(Names{}, Names{"Zoe", "Bob"}));
  EXPECT_EQ(table.unknown, 1U);
}

// More rows than a slice and a piece, some of them without a key or a value.
TEST(ArrowReader, GivesTheSameForAnyThreadsAndPieces) {
  constexpr std::size_t rows = 70'000;
  std::mt19937 random(5);
  std::vector<std::int32_t> codes(rows);
  std::vector<std::uint32_t> indices(rows);
  std::vector<double> values(rows);
  std::vector<bool> valid(rows);
  std::vector<Names> expected;
  const Names words = {"a", "bb", "ccc", "d", "e"};
  for (std::size_t i = 0; i < rows; ++i) {
    codes[i] = static_cast<std::int32_t>(random() % words.size());
    indices[i] = static_cast<std::uint32_t>(random() % 1000);
    values[i] = random() % 50 == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(i);
    valid[i] = random() % 9 != 0;
    if (valid[i] && values[i] == values[i]) {
      expected.push_back({words[static_cast<std::size_t>(codes[i])], std::to_string(indices[i])});
    }
  }
  const Batches batches = {{with_nulls(coded("what", "i", codes, texts("", words)), valid), numbers("i", "I", indices),
                            numbers("n", "g", values)}};
  TableOptions options = modes_and_value({"what", "i"}, "n");
  options.missing = {.are_accepted = true, .key = ""};

  for (const ArrowChoice& choice : {ArrowChoice{}, ArrowChoice{.max_bytes = 1}, ArrowChoice{.threads = 3},
                                    ArrowChoice{.max_bytes = 1, .threads = 3}}) {
    const ArrowRows table = read_batches(batches, options, choice);

    EXPECT_EQ(table.rows, expected);
    EXPECT_EQ(table.skipped.size(), 2U);
  }
}

TEST(ArrowReader, HoldsLengthsAgainstTheShape) {
  const Batches batches = {{texts("who", {"a", "b"}), numbers<std::int64_t>("i", "l", {0, 1})}};
  const TableOptions options = modes_and_value({"who", "i:index"});

  EXPECT_THAT(read_batches(batches, options, {.shape = {2, 9}}).shape, ElementsAre(2, 9));
  EXPECT_THAT(refused_batches(batches, options, {.shape = {3, 9}}),
              HasSubstr("the mode 'who' has 2 labels, but `shape` gives it a length of 3"));
  EXPECT_THAT(refused_batches(batches, options, {.shape = {2}}), HasSubstr("`shape` has 1 lengths; give one per mode"));
}

TEST(ArrowReader, KeysBeyondTheBudgetNameOneThatSuffices) {
  Names many;
  for (int i = 0; i < 5000; ++i) many.push_back("key number " + std::to_string(i));
  TableOptions options = modes_and_value({"x"});
  options.key_bytes = 100'000;
  options.memory_bytes = 200'000;

  const std::string message = refused_batches({{texts("x", many)}}, options, {}, ErrorKind::out_of_memory);

  EXPECT_THAT(message, HasSubstr("keys read so far take"));
  EXPECT_LT(std::stoi(message.substr(std::string("the ").size())), 5000) << "in the midst of a batch";
  EXPECT_THAT(message, HasSubstr("`memory_bytes = 1MiB`"));
}

}  // namespace
}  // namespace blco
