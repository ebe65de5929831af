// Units of time as coordinates: the number of the unit that a point in time lies in, and its label.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/table/time_point.hpp"

namespace blco {

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

enum class TimeUnitFault {
  none,
  unknown_form,
  no_such_time,
  outside_years,
  month_or_seconds,
  too_coarse,    // it does not say in which unit it lies: a month has no day
  small_number,  // few digits that are neither a year nor a label of the unit
};

// The unit of a field: of all that parse_time() accepts, and of a label of the unit; a whole number of one or two
// digits is an hour of the day for that unit, and refused for weekdays. A date alone means its midnight. Sets `number`
// only if the result is `none`.
TimeUnitFault parse_time_unit(std::string_view field, TimeUnit unit, std::int64_t& number);

// The number whose label this is, exactly.
std::optional<std::int64_t> number_of_time_label(std::string_view label, TimeUnit unit);

}  // namespace blco
