// Entries of `modes`: which column they mean, and how its fields are read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/table/mode_column.hpp"
#include "tests/io/expect_error.hpp"

namespace blco {
namespace {

using testing::HasSubstr;
using Names = std::vector<std::string>;

ModeColumn only_mode(const std::string& entry, const Names& columns) {
  return parse_mode_columns(Names{entry}, columns).front();
}

std::string refused_entries(const Names& entries, const Names& columns) {
  return message_of_error(ErrorKind::invalid_argument, [&] { parse_mode_columns(entries, columns); });
}

TEST(ModeColumn, SplitsAtTheLastColon) {
  const ModeColumn day = only_mode("log:when:day", {"log:when", "log"});
  const ModeColumn every = only_mode("when:week:every", {"when"});
  const ModeColumn bins = only_mode("price:bins=20", {"price"});
  const ModeColumn quantiles = only_mode("price:quantiles=65536", {});

  EXPECT_EQ(day.column, "log:when");
  EXPECT_EQ(day.reading.kind, FieldReading::Kind::time);
  EXPECT_EQ(day.reading.unit, TimeUnit::day);
  EXPECT_FALSE(day.reading.every);
  EXPECT_EQ(every.column, "when");
  EXPECT_EQ(every.reading.unit, TimeUnit::week);
  EXPECT_TRUE(every.reading.every);
  EXPECT_EQ(bins.reading.kind, FieldReading::Kind::bins);
  EXPECT_EQ(bins.reading.bins, 20u);
  EXPECT_EQ(quantiles.reading.bins, 65536u);
}

TEST(ModeColumn, MeansAColumnOfTheWholeName) {
  for (const char* name : {"when:day", "when:every", "a:b:c", "when:dya"}) {
    const ModeColumn mode = only_mode(name, {"when", name});

    EXPECT_EQ(mode.column, name);
    EXPECT_EQ(mode.reading.kind, FieldReading::Kind::keys);
    EXPECT_EQ(mode.name, name);
  }
}

TEST(ModeColumn, IsNamedAfterItsColumnWhileThatIsTheOnlyMode) {
  EXPECT_EQ(only_mode("when:day:every", {"when"}).name, "when");

  const auto modes = parse_mode_columns(Names{"when:day:every", "user", "when:hour-of-day", "when", "price:bins=3"},
                                        Names{"when", "user", "price"});

  EXPECT_EQ(modes[0].name, "when:day");
  EXPECT_EQ(modes[1].name, "user");
  EXPECT_EQ(modes[2].name, "when:hour-of-day");
  EXPECT_EQ(modes[3].name, "when");
  EXPECT_EQ(modes[4].name, "price");
}

TEST(ModeColumn, RefusesReadingsThatThereAreNot) {
  const Names columns = {"when", "price"};

  EXPECT_EQ(
      refused_entries({"when:dya"}, columns),
      "`columns.modes` asks for 'when:dya', but 'dya' is no way to read a column; there are year, quarter, month, "
      "week, day, hour, minute, weekday, hour-of-day, bins=N, quantiles=N and index; units may be followed by :utc, "
      "and all but the last two by :every");
  EXPECT_THAT(refused_entries({"when:day:utc:local"}, columns), HasSubstr("'utc:local' is no way to read a column"));
  EXPECT_THAT(refused_entries({"when:index:utc"}, columns), HasSubstr("'index:utc' is no way to read a column"));
  EXPECT_THAT(refused_entries({"when:utc"}, columns), HasSubstr("'utc' is no way to read a column"));
  EXPECT_THAT(refused_entries({"when:every"}, columns), HasSubstr("'every' is no way to read a column"));
  EXPECT_THAT(refused_entries({"price:bins=2:every"}, columns), HasSubstr("'bins=2:every' is no way"));
  EXPECT_THAT(refused_entries({"price:bins"}, columns), HasSubstr("'bins' is no way"));
  EXPECT_THAT(refused_entries({"when:weekday:every"}, columns), HasSubstr("leave out :every"));
  for (const char* entry : {"price:bins=1", "price:bins=65537", "price:bins=", "price:bins=2x", "price:bins=-2"}) {
    EXPECT_THAT(refused_entries({entry}, columns), HasSubstr("the number of bins must be from 2 to 65536")) << entry;
  }
}

TEST(ModeColumn, RefusesTwoEqualEntries) {
  const Names columns = {"when", "price"};

  EXPECT_EQ(refused_entries({"when", "when"}, columns), "`columns.modes` names the column 'when' twice");
  EXPECT_EQ(refused_entries({"when:day", "price", "when:day:every"}, columns),
            "`columns.modes` names 'when:day' twice");
  EXPECT_EQ(parse_mode_columns(Names{"price:bins=3", "price:bins=4"}, columns).size(), 2u);
}

}  // namespace
}  // namespace blco
