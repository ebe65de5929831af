// Parses a point in time: a date and time of ISO 8601, or a count of seconds since 1970.
#pragma once

#include <cstdint>
#include <string_view>

namespace blco {

// The least that a text says of a time: a date may lack its day and its month.
inline constexpr std::int64_t seconds_per_day = 86'400;

enum class TimePrecision { year, month, day };

struct TimePoint {
  std::int64_t seconds = 0;  // since 1970-01-01T00:00:00, of UTC or of the clock that the text has; rounded down
  TimePrecision precision = TimePrecision::day;
};

enum class TimeFault {
  none,
  unknown_form,
  no_such_time,      // a 30th of February, a 25th hour
  outside_years,     // before the year 1 or after 9999
  month_or_seconds,  // six digits such as 202403
  small_number,      // a whole number of up to five digits that is neither a year nor 0
};

// The seconds of the first and the last moment that a TimePoint may have: of the years 1 to 9999.
inline constexpr std::int64_t min_time_seconds = -62'135'596'800;
inline constexpr std::int64_t max_time_seconds = 253'402'300'799;

// Accepts, without blanks around it:
//   2024, 2024-03, 2024-03-05, 20240305   a date, the last for years from 1900 to 2199
//   a date with its day, 'T' or a blank, and 14, 14:07, 1407, 14:07:33, 140733, or 14:07:33.25 with any number of
//   digits; then optionally Z, UTC, +hh, +hhmm or +hh:mm, before which there may be a blank: this is converted to UTC.
//   A time without a zone is taken as it is. Second 60 counts as second 59.
//   0, 1709647653, -1.5   whole numbers of six and more digits, and those with a sign or a fraction: since 1970, in
//   seconds below 10^11 in magnitude, in milliseconds below 10^14, in microseconds below 10^17, else in nanoseconds
// A fraction of zeros, as in 2024.0, is as none. Sets `point` only if the result is `none`.
TimeFault parse_time(std::string_view text, TimePoint& point);

}  // namespace blco
