// Times and their units, with figures worked by hand, and the whole calendar against a count of its days.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "io/table/time_unit.hpp"

namespace blco {
namespace {

std::string time_label(std::string_view field, TimeUnit unit) {
  std::int64_t number = 0;
  const TimeFault fault = parse_time_unit(field, unit, number);
  return fault == TimeFault::none ? time_unit_label(number, unit) : "fault " + std::to_string(static_cast<int>(fault));
}

std::string refused_by(TimeFault fault) { return "fault " + std::to_string(static_cast<int>(fault)); }

std::int64_t seconds_of(std::string_view text) {
  TimePoint point;
  EXPECT_EQ(static_cast<int>(parse_time(text, point)), static_cast<int>(TimeFault::none)) << text;
  return point.seconds;
}

TimeFault time_fault(std::string_view text) {
  TimePoint point;
  return parse_time(text, point);
}

TEST(TimePoint, CountsSecondsSince1970) {
  EXPECT_EQ(seconds_of("1970-01-01"), 0);
  EXPECT_EQ(seconds_of("1970-01-02T00:00:01"), 86401);
  EXPECT_EQ(seconds_of("1969-12-31T23:59:59"), -1);
  EXPECT_EQ(seconds_of("2000-03-01"), 951868800);
  EXPECT_EQ(seconds_of("2024-03-05T14:07:33"), 1709647653);
  EXPECT_EQ(seconds_of("0001-01-01"), min_time_seconds);
  EXPECT_EQ(seconds_of("9999-12-31T23:59:59"), max_time_seconds);
}

TEST(TimePoint, TakesTheFormsOfIso8601) {
  constexpr std::int64_t seconds = 1709647653;
  for (const char* text :
       {"2024-03-05 14:07:33", "20240305T140733", "20240305 14:07:33", "2024-03-05T14:07:33.999999999",
        "2024-03-05T14:07:33,5", "2024-03-05T14:07:33Z", "2024-03-05T14:07:33 UTC", "2024-03-05T15:07:33+01:00",
        "2024-03-05T15:07:33+01", "2024-03-05 09:37:33 -0430", "2024-03-06T02:07:33+12:00"}) {
    EXPECT_EQ(seconds_of(text), seconds) << text;
  }
  EXPECT_EQ(seconds_of("2024-03-05T14:07"), seconds - 33);
  EXPECT_EQ(seconds_of("2024-03-05T14"), seconds - 33 - 7 * 60);
  EXPECT_EQ(seconds_of("2016-12-31T23:59:60Z"), seconds_of("2016-12-31T23:59:59Z"));
}

TEST(TimePoint, TakesNumbersByTheirSize) {
  EXPECT_EQ(seconds_of("0"), 0);
  EXPECT_EQ(seconds_of("-100000"), -100000);
  EXPECT_EQ(seconds_of("-100000000.5"), -100000001);
  EXPECT_EQ(seconds_of("+1709647653"), 1709647653);
  EXPECT_EQ(seconds_of("1709647653.25"), 1709647653);
  EXPECT_EQ(seconds_of("1709647653.0"), 1709647653);
  EXPECT_EQ(seconds_of("99999999999"), 99999999999);  // the last in seconds, of the year 5138
  EXPECT_EQ(seconds_of("100000000000"), 100000000);   // the first in milliseconds
  EXPECT_EQ(seconds_of("1709647653123"), 1709647653);
  EXPECT_EQ(seconds_of("-1709647653123"), -1709647654);
  EXPECT_EQ(seconds_of("1709647653123456"), 1709647653);
  EXPECT_EQ(seconds_of("1709647653123456789"), 1709647653);
  EXPECT_EQ(seconds_of("-62135596800"), min_time_seconds);
}

TEST(TimePoint, TakesDigitsForADateWhereTheyAreOne) {
  EXPECT_EQ(seconds_of("20240229"), seconds_of("2024-02-29"));
  EXPECT_EQ(seconds_of("20240229.0"), seconds_of("2024-02-29"));
  EXPECT_EQ(seconds_of("19000101"), seconds_of("1900-01-01"));
  EXPECT_EQ(seconds_of("21991231"), seconds_of("2199-12-31"));
  EXPECT_EQ(seconds_of("18991231"), 18991231);
  EXPECT_EQ(seconds_of("22000101"), 22000101);
  EXPECT_EQ(seconds_of("-20240229"), -20240229);
  EXPECT_EQ(seconds_of("1985"), seconds_of("1985-01-01"));
  EXPECT_EQ(time_fault("20230229"), TimeFault::no_such_time);
  EXPECT_EQ(time_fault("202403"), TimeFault::other_form);
  EXPECT_EQ(seconds_of("202413"), 202413);
}

TEST(TimePoint, RefusesWhatIsNoTime) {
  for (const char* text : {"",
                           "-",
                           "+",
                           ".",
                           ".5",
                           "5.",
                           "1e9",
                           "03/05/2024",
                           "5.3.2024",
                           "2024/03/05",
                           "2024-3-5",
                           "2024-",
                           "2024-03-",
                           "2024-03-05T",
                           "2024-03-05T1",
                           "2024-03-05T14:",
                           "2024-03-05T14:7",
                           "2024-03-05T14:07:",
                           "2024-03-05T14:07:33.",
                           "2024-03-05T14:07:33+",
                           "2024-03-05T14:07Q",
                           "2024-03-05T14:07:33Zx",
                           "2024-03-05Z",
                           "2024-03T14",
                           "2024-W10",
                           "NaT",
                           "x",
                           "２０２４"}) {
    EXPECT_EQ(time_fault(text), TimeFault::unknown_form) << text;
  }
  for (const char* text : {"2023-02-29", "1900-02-29", "2024-00-10", "2024-13-01", "2024-04-31", "2024-01-00",
                           "2024-01-01T24:00", "2024-01-01T10:60", "2024-01-01T10:10:61", "2024-01-01T10+24:00"}) {
    EXPECT_EQ(time_fault(text), TimeFault::no_such_time) << text;
  }
  for (const char* text : {"0000-01-01", "0000", "0001-01-01T00:00+00:01", "9999-12-31T23:59:59-00:01", "-62135596801",
                           "18446744073709551616", "-99999999999"}) {
    EXPECT_EQ(time_fault(text), TimeFault::outside_years) << text;
  }
}

TEST(TimeUnit, LabelsEachUnit) {
  const std::string field = "2024-03-05T14:07:33";
  const std::array<const char*, time_unit_count> labels = {
      "2024", "2024-Q1", "2024-03", "2024-W10", "2024-03-05", "2024-03-05T14", "2024-03-05T14:07", "Tuesday", "14"};
  for (int unit = 0; unit < time_unit_count; ++unit) {
    EXPECT_EQ(time_label(field, static_cast<TimeUnit>(unit)), labels[static_cast<std::size_t>(unit)]);
  }
}

// The examples of https://en.wikipedia.org/wiki/ISO_week_date.
TEST(TimeUnit, GivesWeeksTheYearThatMostOfThemLiesIn) {
  const std::vector<std::pair<const char*, const char*>> examples = {
      {"1977-01-01", "1976-W53"}, {"1977-01-02", "1976-W53"}, {"1977-12-31", "1977-W52"}, {"1978-01-01", "1977-W52"},
      {"1978-01-02", "1978-W01"}, {"1978-12-31", "1978-W52"}, {"1979-12-30", "1979-W52"}, {"1979-12-31", "1980-W01"},
      {"1980-12-28", "1980-W52"}, {"1980-12-29", "1981-W01"}, {"1981-12-31", "1981-W53"}, {"1982-01-03", "1981-W53"},
      {"0001-01-01", "0001-W01"}, {"9999-12-31", "9999-W52"}};
  for (const auto& [date, week] : examples) EXPECT_EQ(time_label(date, TimeUnit::week), week) << date;
}

TEST(TimeUnit, CountsByTheClockOfAZoneOrByUtc) {
  struct Example {
    const char* time;
    TimeUnit unit;
    const char* local;
    const char* utc;
  };
  for (const auto& [time, unit, local, utc] :
       {Example{"2024-02-28T23:30:00-01:00", TimeUnit::day, "2024-02-28", "2024-02-29"},
        Example{"2024-03-01T00:30:00+01:00", TimeUnit::day, "2024-03-01", "2024-02-29"},
        Example{"2024-01-01T00:30:00+01:00", TimeUnit::year, "2024", "2023"},
        Example{"2024-01-01T00:30:00+01:00", TimeUnit::hour_of_day, "00", "23"},
        Example{"2024-01-01T00:30:00+00:45", TimeUnit::minute, "2024-01-01T00:30", "2023-12-31T23:45"},
        Example{"2024-01-01T00:30:00Z", TimeUnit::minute, "2024-01-01T00:30", "2024-01-01T00:30"}}) {
    std::int64_t by_utc = 0;
    ASSERT_EQ(parse_time_unit(time, unit, by_utc, nullptr, /*is_utc=*/true), TimeFault::none);
    EXPECT_EQ(time_label(time, unit), local);
    EXPECT_EQ(time_unit_label(by_utc, unit), utc);
  }
  std::int64_t number = 0;
  EXPECT_EQ(parse_time_unit("9999-12-31T23:59:59-01:00", TimeUnit::day, number), TimeFault::outside_years);
}

TEST(TimeUnit, TakesTimesBefore1970) {
  EXPECT_EQ(time_label("-100000", TimeUnit::minute), "1969-12-30T20:13");
  EXPECT_EQ(time_label("1969-12-31T23:59:59", TimeUnit::day), "1969-12-31");
  EXPECT_EQ(time_label("-100000", TimeUnit::weekday), "Tuesday");
  EXPECT_EQ(time_label("-100000", TimeUnit::hour_of_day), "20");
  EXPECT_EQ(time_label("0001-01-01", TimeUnit::minute), "0001-01-01T00:00");
  EXPECT_EQ(time_label("0001-01-01", TimeUnit::weekday), "Monday");
  EXPECT_EQ(time_label("9999-12-31T23:59:59", TimeUnit::minute), "9999-12-31T23:59");
  EXPECT_EQ(time_label("9999-12-31", TimeUnit::quarter), "9999-Q4");
}

TEST(TimeUnit, RefusesADateThatDoesNotSayTheUnit) {
  EXPECT_EQ(time_label("2024", TimeUnit::year), "2024");
  EXPECT_EQ(time_label("2024.0", TimeUnit::year), "2024");
  EXPECT_EQ(time_label("2024-05", TimeUnit::quarter), "2024-Q2");
  EXPECT_EQ(time_label("2024-05", TimeUnit::month), "2024-05");
  EXPECT_EQ(time_label("2024-05-01", TimeUnit::minute), "2024-05-01T00:00");
  for (const TimeUnit unit : {TimeUnit::quarter, TimeUnit::month, TimeUnit::week, TimeUnit::day, TimeUnit::weekday}) {
    EXPECT_EQ(time_label("2024", unit), refused_by(TimeFault::too_coarse));
  }
  for (const TimeUnit unit : {TimeUnit::week, TimeUnit::day, TimeUnit::minute, TimeUnit::hour_of_day}) {
    EXPECT_EQ(time_label("2024-05", unit), refused_by(TimeFault::too_coarse));
  }
}

TEST(TimeUnit, TakesItsOwnLabels) {
  EXPECT_EQ(time_label("2024-Q3", TimeUnit::quarter), "2024-Q3");
  EXPECT_EQ(time_label("2020-W53", TimeUnit::week), "2020-W53");
  EXPECT_EQ(time_label("Sunday", TimeUnit::weekday), "Sunday");
  EXPECT_EQ(time_label("7", TimeUnit::hour_of_day), "07");
  EXPECT_EQ(time_label("23", TimeUnit::hour_of_day), "23");
  EXPECT_EQ(time_label("24", TimeUnit::hour_of_day), refused_by(TimeFault::small_number));
  EXPECT_EQ(time_label("3", TimeUnit::weekday), refused_by(TimeFault::small_number));
  EXPECT_EQ(time_label("100000", TimeUnit::weekday), "Friday");
  EXPECT_EQ(time_label("100", TimeUnit::weekday), refused_by(TimeFault::small_number));
  EXPECT_EQ(time_label("45352", TimeUnit::day), refused_by(TimeFault::small_number));
  EXPECT_EQ(time_label("2024-W53", TimeUnit::week), refused_by(TimeFault::unknown_form));
  EXPECT_EQ(time_label("2024-Q5", TimeUnit::quarter), refused_by(TimeFault::unknown_form));
  EXPECT_EQ(time_label("2024-Q1", TimeUnit::year), refused_by(TimeFault::unknown_form));
  EXPECT_EQ(number_of_time_label("2024-1", TimeUnit::month), std::nullopt);
  EXPECT_EQ(number_of_time_label("20240305", TimeUnit::day), std::nullopt);
  EXPECT_EQ(number_of_time_label("1970-01-02", TimeUnit::day), 1);
}

// Walks through 400 years, after which the calendar repeats, by the rules for the lengths of months.
TEST(TimeUnit, AgreesWithACountOfAllDays) {
  constexpr std::array<int, 12> lengths = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  constexpr std::array<const char*, 7> names = {"Saturday",  "Sunday",   "Monday", "Tuesday",
                                                "Wednesday", "Thursday", "Friday"};
  std::int64_t day = 10957;  // since 1970, of 2000-01-01, a Saturday
  for (int year = 2000; year < 2400; ++year) {
    const bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    for (int month = 1; month <= 12; ++month) {
      const int length = lengths[static_cast<std::size_t>(month - 1)] + (month == 2 && is_leap ? 1 : 0);
      for (int date = 1; date <= length; ++date, ++day) {
        std::array<char, 32> label{};
        std::snprintf(label.data(), label.size(), "%04d-%02d-%02d", year, month, date);
        const std::int64_t seconds = day * 86400;
        ASSERT_EQ(time_unit_label(time_unit_at(seconds, TimeUnit::day), TimeUnit::day), label.data());
        ASSERT_EQ(seconds_of(label.data()), seconds);
        ASSERT_EQ(time_unit_at(seconds + 86399, TimeUnit::month), year * 12 + month - 1);
        ASSERT_EQ(time_unit_label(time_unit_at(seconds, TimeUnit::weekday), TimeUnit::weekday),
                  names[static_cast<std::size_t>((day - 10957) % 7)]);
      }
    }
  }
  EXPECT_EQ(day - 10957, 146097);
}

}  // namespace
}  // namespace blco
