// What each form of a time in digits becomes, in text and in columns of Arrow alike: a date, or a refusal that says
// what it looks like; and the notes on columns of unlikely times. Dates were worked out by Python's datetime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <optional>
#include <span>
#include <string>

#include "io/arrow/arrow_reader.hpp"
#include "io/table/csv_reader.hpp"
#include "tests/arrow_arrays.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/thread_executor.hpp"

namespace blco {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct TimeForm {
  const char* field;
  const char* minute;      // the label of its minute; empty: it is refused
  const char* words = "";  // what the refusal says
};

constexpr const char* no_time = "is no time in the form of ISO 8601";
constexpr const char* too_few = "too few digits for seconds since 1970";
constexpr const char* not_there = "is a date or time that does not exist";

constexpr TimeForm time_forms[] = {
    // Counts since 1970.
    {"0", "1970-01-01T00:00"},
    {"1709647653", "2024-03-05T14:07"},
    {"1709647653.25", "2024-03-05T14:07"},
    {"1709647653,25", "2024-03-05T14:07"},
    {"1709647653.0", "2024-03-05T14:07"},
    {"01709647653", "2024-03-05T14:07"},
    {"1709647653123", "2024-03-05T14:07"},
    {"1709647653123.4", "2024-03-05T14:07"},
    {"1709647653123456", "2024-03-05T14:07"},
    {"1709647653123456789", "2024-03-05T14:07"},
    {"123456789.5", "1973-11-29T21:33"},
    {"123456789123", "1973-11-29T21:33"},
    {"100000", "1970-01-02T03:46"},
    {"31535999", "1970-12-31T23:59"},
    {"1999999999", "2033-05-18T03:33"},  // no month 99
    {"2199369", "1970-01-26T10:56"},     // no day 369 of a year
    {"-1709647653", "1915-10-29T09:52"},
    {"-1709647653.5", "1915-10-29T09:52"},
    {"-100000", "1969-12-30T20:13"},
    {"-20240305", "1969-05-11T17:41"},
    // A sign says that it counts since 1970.
    {"+5", "1970-01-01T00:00"},
    {"+1709647653", "2024-03-05T14:07"},
    {"+2024030514", "2034-02-20T06:41"},
    {"+20240305140733", "2611-05-23T18:59"},
    // Dates in digits.
    {"20240305", "2024-03-05T00:00"},
    {"20240305.0", "2024-03-05T00:00"},
    {"202403051407", "2024-03-05T14:07"},
    {"190001010000", "1900-01-01T00:00"},
    {"219912312359", "2199-12-31T23:59"},
    {"20240305140733", "2024-03-05T14:07"},
    {"20240305140733.25", "2024-03-05T14:07"},
    {"20240305140760", "2024-03-05T14:07"},  // a leap second
    {"20240305140733123", "2024-03-05T14:07"},
    {"20240305T140733Z", "2024-03-05T14:07"},
    {"20240230", "", not_there},
    {"202402301407", "", not_there},
    {"202403052407", "", not_there},
    {"20240305146033", "", not_there},
    {"20241305140733", "", not_there},
    {"20240305250733123", "", not_there},
    // Digits that are two things.
    {"2024030514", "",
     "may be the hour 2024-03-05T14 or a count since 1970 (2034-02-20T06:41); write times as ISO 8601 "
     "has them, and such a count with a sign, as +2024030514"},
    {"2024030514.5", "", "may be the hour 2024-03-05T14 or a count since 1970"},
    {"202403", "", "may be the month 2024-03 or a count since 1970 (1970-01-03T08:13)"},
    {"2024065", "", "may be day 65 of 2024 or a count since 1970 (1970-01-24T10:14)"},
    {"2024366", "", "may be day 366 of 2024"},
    {"2460375", "", "may be a Julian day (2024-03-05T12:00) or a count since 1970 (1970-01-29T11:26)"},
    {"739316", "",
     "may be a day number of MATLAB (datenum) (2024-03-05T00:00) or a day number of Python (toordinal) "
     "(2025-03-06T00:00) or a count since 1970"},
    {"25122024", "", "may be a date with its year last or a count since 1970 (1970-10-18T18:20)"},
    {"12252024", "", "may be a date with its year last"},
    {"05032024", "", "may be a date with its year last"},
    {"202403051407.33", "", "may be the minute 2024-03-05T14:07 or a count since 1970 (1976-05-31T15:04)"},
    {"2024030514073312", "", "may be the time 2024-03-05T14:07:33 with a fraction or a count since 1970"},
    {"20240305140733123456", "", "may be the time 2024-03-05T14:07:33 with a fraction"},
    {"638452444530000000", "", "may be ticks of .NET (2024-03-05T14:07) or a count since 1970 (1990-03-26T11:54)"},
    {"133541212530000000", "",
     "may be a FILETIME of Windows (2024-03-05T14:07) or a count since 1970 (1974-03-26T14:46)"},
    // Too few digits before a fraction.
    {"45356.588576", "",
     "may be a serial day of a spreadsheet (2024-03-05T14:07) or a modified Julian day "
     "(1983-01-22T14:07) and has too few digits for seconds since 1970; write times as ISO 8601"},
    {"45357,25", "", "may be a serial day of a spreadsheet (2024-03-06T06:00)"},
    {"2460374.5", "", "may be a Julian day (2024-03-05T00:00)"},
    {"739316.5", "", "may be a day number of MATLAB (datenum) (2024-03-05T12:00)"},
    {"2024065.5", "", "may be day 65 of 2024 and has"},
    {"2024.5", "", "may be a year with a fraction and has"},
    {"2024.03", "", "may be the month 2024-03 or a year with a fraction and has"},
    {"14.07", "", "may be the clock 14:07 and has"},
    {"9.30", "", "may be the clock 9:30 and has"},
    {"140733.123", "", "may be the clock 14:07:33 and has"},
    {"0.588576", "", "may be a part of a day and has"},
    {"20240305.5", "", "may be the day 2024-03-05 and a part of it and has"},
    {"12345678.5", "", "has a fraction and too few digits"},
    {"-1.5", "", too_few},
    {"+1.5", "", too_few},
    // Few digits.
    {"5", "", too_few},
    {"45356", "",
     "has too few digits for seconds since 1970, but may be a serial day of a spreadsheet (2024-03-05T00:00)"},
    {"45356.0", "", "but may be a serial day of a spreadsheet"},
    {"000005", "", too_few},
    {"00000000", "", too_few},
    {"-1", "", too_few},
    {"-9999", "", too_few},
    {"2024", "", "does not say which minute it means"},
    {"2024.0", "", "does not say which minute it means"},
    // Others.
    {"1.7e9", "", "is a number with an exponent, which may have lost digits"},
    {"2.02403E+13", "", "is a number with an exponent"},
    {"14:07", "", no_time},
    {"2024/03/05", "", no_time},
    {"2024-065", "", no_time},
    {"20240305140733Z", "", no_time},
    {"1709647653.", "", no_time},
    {"184467440737095516160", "", "lies outside of the years"},
};

// The label of its minute, or what the refusal says; and the notes on it.
struct ReadTime {
  std::string label;
  std::vector<std::string> notes;
};

ReadTime read_time(CoordinateReader& reader) {
  CoordinateBatch batch;
  while (reader.next(batch)) {
  }
  const auto labels = reader.take_labels();
  return {std::string(labels[0][0]), reader.notes()};
}

TableOptions times_by(const std::string& unit) { return {.columns = {{"when:" + unit}, ""}}; }

ReadTime read_text_times(std::span<const std::string> fields, const std::string& unit) {
  const TemporaryFolder folder;
  ThreadExecutor executor(1);
  std::string text = "when\n";
  for (const std::string& field : fields) text += '"' + field + "\"\n";
  return read_time(*open_csv({folder.write("t.csv", text)}, times_by(unit), executor));
}

ReadTime read_arrow_times(const HandArray& column, const std::string& unit) {
  ThreadExecutor executor(1);
  HandStream stream({{column}});
  return read_time(*open_arrow(ArrowStream(stream.stream()), times_by(unit), {}, 1 << 20, executor));
}

// The field as a column of integers or doubles, where these are written so.
template <class Number>
std::optional<HandArray> column_of_numbers(const std::string& field, const std::string& format) {
  Number number = 0;
  const auto read = std::from_chars(field.data(), field.data() + field.size(), number);
  std::array<char, 64> digits{};
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  if (read.ec != std::errc() || field != std::string(digits.data(), written.ptr)) return std::nullopt;
  return numbers<Number>("when", format, {number});
}

template <class Read>
void expect_form(const TimeForm& form, const Read& read) {
  if (form.minute[0] != '\0') {
    EXPECT_EQ(read().label, form.minute) << form.field;
    return;
  }
  const std::string message = message_of_error(ErrorKind::invalid_argument, read);
  EXPECT_THAT(message, HasSubstr(form.words)) << form.field;
}

TEST(TimeForms, AreWhatTheyAreInText) {
  for (const TimeForm& form : time_forms) {
    const std::string field = form.field;
    expect_form(form, [&] { return read_text_times({&field, 1}, "minute"); });
  }
}

TEST(TimeForms, AreTheSameInColumnsOfArrow) {
  int counted = 0;
  for (const TimeForm& form : time_forms) {
    const std::string field = form.field;
    expect_form(form, [&] { return read_arrow_times(texts("when", {field}), "minute"); });
    for (const auto& column : {column_of_numbers<std::int64_t>(field, "l"), column_of_numbers<double>(field, "g")}) {
      if (!column) continue;
      expect_form(form, [&] { return read_arrow_times(*column, "minute"); });
      ++counted;
    }
  }
  EXPECT_GE(counted, 40);
}

TEST(TimeForms, OfRecurringUnitsAreRefusedToo) {
  for (const char* const text : {"14.07", "2024.03", "45356.588576", "0.5", "2024030514"}) {
    const std::string field = text;
    EXPECT_THAT(message_of_error(ErrorKind::invalid_argument,
                                 [&] {
                                   read_text_times({&field, 1}, "hour-of-day");
                                 }),
                HasSubstr("may be "));
  }
  const std::string digits = "20240305140733";
  EXPECT_EQ(read_text_times({&digits, 1}, "hour-of-day").label, "14");
  EXPECT_EQ(read_text_times({&digits, 1}, "weekday").label, "Tuesday");
}

TEST(TimeForms, NoteTimesThatAllLieIn1970OrAfter2100) {
  const auto notes = [](const std::vector<std::string>& fields, const std::string& unit) {
    return read_text_times(fields, unit).notes;
  };
  const auto in_1970 = ElementsAre(
      "the mode 'when': all of its times lie in 1970, from 1970-01-02T03:46 to 1970-12-31T23:59; a number counts "
      "seconds since 1970, or smaller units where it is large: if these mean other times, write them as ISO 8601 has "
      "them");

  EXPECT_THAT(notes({"31535999", "100000"}, "day"), in_1970);
  EXPECT_THAT(notes({"31535999", "100000"}, "hour-of-day"), in_1970);
  EXPECT_THAT(notes({"31536000", "100000"}, "day"), IsEmpty());
  EXPECT_THAT(notes({"-100000", "100000"}, "day"), IsEmpty());
  EXPECT_THAT(notes({"100000", "7"}, "hour-of-day"), IsEmpty());
  EXPECT_THAT(notes({"13930221653"}, "year"), ElementsAre(HasSubstr("all of its times lie after 2100, from 2411-")));
  EXPECT_THAT(notes({"2101-01-01"}, "year"), ElementsAre(HasSubstr("after 2100, from 2101-01-01T00:00 to 2101-01-01")));
  EXPECT_THAT(notes({"2100-12-31"}, "year"), IsEmpty());
  EXPECT_THAT(read_arrow_times(numbers<std::int64_t>("when", "l", {100000, 31535999}), "day").notes, in_1970);
  EXPECT_THAT(read_arrow_times(texts("when", {"100000", "31535999"}), "weekday").notes, in_1970);
  EXPECT_THAT(read_arrow_times(numbers<std::int64_t>("when", "tss:", {100000}), "day").notes, IsEmpty());
}

TEST(TimeForms, RefuseFloatsThatMayBeRounded) {
  const auto refused = [](float number) {
    return message_of_error(ErrorKind::invalid_argument,
                            [&] { read_arrow_times(numbers<float>("when", "f", {number}), "day"); });
  };

  EXPECT_THAT(refused(1709647653.0F), HasSubstr("a float has too few digits for a time such as 1709647616"));
  EXPECT_THAT(refused(20240305.0F), HasSubstr("cast the column to timestamps or to double"));
  EXPECT_EQ(read_arrow_times(numbers<float>("when", "f", {2024.0F}), "year").label, "2024");
}

}  // namespace
}  // namespace blco
