// Points in time, as ISO 8601 or seconds since 1970, and units of time as coordinates: the number of the unit that a
// point lies in, and its label.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace blco {

// The least that a text says of a time: a date may lack its day and its month.
inline constexpr std::int64_t seconds_per_day = 86'400;

enum class TimePrecision { year, month, day };

struct TimePoint {
  std::int64_t seconds = 0;  // since 1970-01-01T00:00:00, of UTC or of the clock that the text has; rounded down
  std::int64_t zone = 0;     // seconds that the clock of the text is ahead of UTC, where the text says so
  TimePrecision precision = TimePrecision::day;
};

enum class TimeFault {
  none,
  unknown_form,
  no_such_time,   // a 30th of February, a 25th hour
  outside_years,  // before the year 1 or after 9999
  other_form,     // a count since 1970 that may be a date in digits or a count from elsewhere as well
  few_digits,     // a number with a fraction, and fewer than nine digits before it
  small_number,   // a whole number of up to five digits that is neither a year nor 0 nor a label of the unit
  too_coarse,     // of a unit alone: the text does not say in which one it lies; a month has no day
};

// The moments of a column, or none.
struct TimeSpan {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  bool has_others = false;  // units that no moment says, such as Monday

  void add(std::int64_t seconds) { add({seconds, seconds}); }
  void add(const TimeSpan& other) {
    first = std::min(first, other.first);
    last = std::max(last, other.last);
    has_others = has_others || other.has_others;
  }
};

// The number that some digits are, of which an int has room for; nothing for any other text.
std::optional<int> number_of_digits(std::string_view text);

// The seconds of the first and the last moment that a TimePoint may have: of the years 1 to 9999.
inline constexpr std::int64_t min_time_seconds = -62'135'596'800;
inline constexpr std::int64_t max_time_seconds = 253'402'300'799;

// Accepts, without blanks around it:
//   2024, 2024-03, 2024-03-05, 20240305   a date, the last for years from 1900 to 2199
//   a date with its day, 'T' or a blank, and 14, 14:07, 1407, 14:07:33, 140733, or 14:07:33.25 with any number of
//   digits; then optionally Z, UTC, +hh, +hhmm or +hh:mm, before which there may be a blank: seconds are those of UTC
//   then. A time without a zone is taken as it is. Second 60 counts as second 59.
//   20240305140733   12, 14 or 17 digits for the same years: a date, and a clock to the minute, the second or the
//   millisecond; 14 may have a fraction of a second
//   0, 1709647653.25   other numbers of six and more digits, before a fraction nine and more: since 1970, in seconds
//   below 10^11 in magnitude, in milliseconds below 10^14, in microseconds below 10^17, else in nanoseconds
//   +5, -1709647653   a sign says that it counts since 1970; a negative number has six digits or more
// A fraction of zeros, as in 2024.0, is as none. What find_other_forms() knows is refused, unless it has a sign. Sets
// `point` only if the result is `none`.
TimeFault parse_time(std::string_view text, TimePoint& point);

// The date of 8 digits that begin with the year, with hour, minute and second where there are 10, 12 or 14.
TimeFault parse_date_digits(std::string_view digits, TimePoint& point);

// The last two recur.
enum class TimeUnit { year, quarter, month, week, day, hour, minute, weekday, hour_of_day };

inline constexpr int time_unit_count = 9;

// "hour-of-day".
std::string_view name_of(TimeUnit unit);
std::optional<TimeUnit> time_unit_named(std::string_view name);
inline bool recurs(TimeUnit unit) { return unit >= TimeUnit::weekday; }

// The number of the unit, which grows with time: neighbours differ by 1. A weekday has 0 (Monday) to 6, an hour of the
// day 0 to 23. Weeks are those of ISO 8601, from Monday to Sunday. Requires: min_time_seconds <= seconds <=
// max_time_seconds.
std::int64_t time_unit_at(std::int64_t seconds, TimeUnit unit);

// 2024, 2024-Q1, 2024-03, 2024-W10 (ISO 8601: of the year that most of the week lies in), 2024-03-05, 2024-03-05T14,
// 2024-03-05T14:07, Monday, 14. But for weekdays, labels as texts have the order of time. Requires: a number that
// time_unit_at() returns.
std::string time_unit_label(std::int64_t number, TimeUnit unit);

// The unit of a field: of all that parse_time() accepts, and of a label of the unit; a whole number of one or two
// digits is an hour of the day for that unit, and refused for weekdays. A date alone means its midnight. Where a text
// has a zone, its clock counts, or UTC with `is_utc`. Sets `number` only if the result is `none`, and then takes the
// moment into `span`.
TimeFault parse_time_unit(std::string_view field, TimeUnit unit, std::int64_t& number, TimeSpan* span = nullptr,
                          bool is_utc = false);

// The number whose label this is, exactly.
std::optional<std::int64_t> number_of_time_label(std::string_view label, TimeUnit unit);

}  // namespace blco
