// Units by the proleptic Gregorian calendar.
#include "io/table/time_unit.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

namespace blco {
namespace {

constexpr std::array<std::string_view, time_unit_count> unit_names = {"year", "quarter", "month",   "week",       "day",
                                                                      "hour", "minute",  "weekday", "hour-of-day"};
constexpr std::array<std::string_view, 7> weekday_names = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                                           "Friday", "Saturday", "Sunday"};

std::int64_t floor_divide(std::int64_t number, std::int64_t divisor) {
  return number / divisor - (number % divisor < 0 ? 1 : 0);
}

std::int64_t floor_modulo(std::int64_t number, std::int64_t divisor) {
  return number - floor_divide(number, divisor) * divisor;
}

std::chrono::year_month_day date_of(std::int64_t day) {
  return std::chrono::sys_days(std::chrono::days(static_cast<int>(day)));
}

// Of the week that a day lies in, counted so that week w has the Thursday 7 w: the first day of 1970 was a Thursday.
std::int64_t week_of(std::int64_t day) { return floor_divide(day + 3, 7); }

void append_digits(std::int64_t number, int digits, std::string& text) {
  const std::size_t end = text.size() + static_cast<std::size_t>(digits);
  text.resize(end);
  for (std::size_t at = end; digits > 0; --digits, number /= 10) text[--at] = static_cast<char>('0' + number % 10);
}

void append_month(std::int64_t month, std::string& text) {
  append_digits(floor_divide(month, 12), 4, text);
  text += '-';
  append_digits(floor_modulo(month, 12) + 1, 2, text);
}

void append_day(std::int64_t day, std::string& text) {
  const std::chrono::year_month_day date = date_of(day);
  append_month(std::int64_t{int{date.year()}} * 12 + unsigned{date.month()} - 1, text);
  text += '-';
  append_digits(unsigned{date.day()}, 2, text);
}

void append_week(std::int64_t week, std::string& text) {
  const std::int64_t thursday = 7 * week;
  const std::chrono::year year = date_of(thursday).year();
  const std::chrono::sys_days new_year = year / std::chrono::January / 1;
  append_digits(int{year}, 4, text);
  text += "-W";
  append_digits((thursday - new_year.time_since_epoch().count()) / 7 + 1, 2, text);
}

// Of the week "2024-W10", or of the quarter "2024-Q1".
bool parse_part_of_year(std::string_view field, TimeUnit unit, std::int64_t& number) {
  const std::string_view mark = unit == TimeUnit::week ? "-W" : "-Q";
  const std::size_t digits = unit == TimeUnit::week ? 2 : 1;
  if (field.size() != 6 + digits || field.substr(4, 2) != mark) return false;
  const int year = number_of_digits(field.substr(0, 4)).value_or(0);
  const int part = number_of_digits(field.substr(6)).value_or(0);
  if (year == 0 || part == 0) return false;
  if (unit == TimeUnit::quarter) {
    number = std::int64_t{4} * year + part - 1;
    return part <= 4;
  }
  // The first week of a year is that of 4 January.
  const std::chrono::sys_days fourth = std::chrono::year(year) / std::chrono::January / 4;
  number = week_of(fourth.time_since_epoch().count()) + part - 1;
  return time_unit_label(number, unit) == field;
}

// Fields that mean no point in time, but a unit.
bool parse_own_form(std::string_view field, TimeUnit unit, std::int64_t& number) {
  if (unit == TimeUnit::week || unit == TimeUnit::quarter) return parse_part_of_year(field, unit, number);
  if (unit != TimeUnit::weekday) return false;
  const auto name = std::ranges::find(weekday_names, field);
  number = name - weekday_names.begin();
  return name != weekday_names.end();
}

// One or two digits for a unit that recurs.
std::optional<TimeFault> parse_small_number(std::string_view field, TimeUnit unit, std::int64_t& number) {
  const auto found = !recurs(unit) || field.size() > 2 ? std::nullopt : number_of_digits(field);
  if (!found) return std::nullopt;
  if (unit == TimeUnit::weekday || *found > 23) return TimeFault::small_number;
  number = *found;
  return TimeFault::none;
}

bool is_said(TimePrecision precision, TimeUnit unit) {
  if (precision == TimePrecision::day || unit == TimeUnit::year) return true;
  return precision == TimePrecision::month && (unit == TimeUnit::quarter || unit == TimeUnit::month);
}

}  // namespace

std::string_view name_of(TimeUnit unit) { return unit_names[static_cast<std::size_t>(unit)]; }

std::optional<TimeUnit> time_unit_named(std::string_view name) {
  const auto found = std::ranges::find(unit_names, name);
  if (found == unit_names.end()) return std::nullopt;
  return static_cast<TimeUnit>(found - unit_names.begin());
}

std::int64_t time_unit_at(std::int64_t seconds, TimeUnit unit) {
  const std::int64_t day = floor_divide(seconds, seconds_per_day);
  switch (unit) {
    case TimeUnit::year:
      return int{date_of(day).year()};
    case TimeUnit::quarter:
      return floor_divide(time_unit_at(seconds, TimeUnit::month), 3);
    case TimeUnit::month: {
      const std::chrono::year_month_day date = date_of(day);
      return std::int64_t{int{date.year()}} * 12 + unsigned{date.month()} - 1;
    }
    case TimeUnit::week:
      return week_of(day);
    case TimeUnit::day:
      return day;
    case TimeUnit::hour:
      return floor_divide(seconds, 3600);
    case TimeUnit::minute:
      return floor_divide(seconds, 60);
    case TimeUnit::weekday:
      return floor_modulo(day + 3, 7);
    case TimeUnit::hour_of_day:
      return floor_modulo(seconds, seconds_per_day) / 3600;
  }
  return 0;
}

std::string time_unit_label(std::int64_t number, TimeUnit unit) {
  std::string text;
  switch (unit) {
    case TimeUnit::year:
      append_digits(number, 4, text);
      break;
    case TimeUnit::quarter:
      append_digits(number / 4, 4, text);
      text += "-Q";
      append_digits(number % 4 + 1, 1, text);
      break;
    case TimeUnit::month:
      append_month(number, text);
      break;
    case TimeUnit::week:
      append_week(number, text);
      break;
    case TimeUnit::day:
      append_day(number, text);
      break;
    case TimeUnit::hour:
      append_day(floor_divide(number, 24), text);
      text += 'T';
      append_digits(floor_modulo(number, 24), 2, text);
      break;
    case TimeUnit::minute:
      text = time_unit_label(floor_divide(number, 60), TimeUnit::hour) + ':';
      append_digits(floor_modulo(number, 60), 2, text);
      break;
    case TimeUnit::weekday:
      text = weekday_names[static_cast<std::size_t>(number)];
      break;
    case TimeUnit::hour_of_day:
      append_digits(number, 2, text);
      break;
  }
  return text;
}

TimeFault parse_time_unit(std::string_view field, TimeUnit unit, std::int64_t& number, TimeSpan* span, bool is_utc) {
  const auto small = parse_small_number(field, unit, number);
  if (small && *small != TimeFault::none) return *small;
  TimePoint point;
  const TimeFault fault = small ? TimeFault::unknown_form : parse_time(field, point);
  if (fault != TimeFault::none) {
    std::int64_t found = number;
    if (!small && !parse_own_form(field, unit, found)) return fault;
    number = found;
    if (span != nullptr) span->has_others = true;
    return TimeFault::none;
  }
  if (!is_said(point.precision, unit)) return TimeFault::too_coarse;
  const std::int64_t seconds = point.seconds + (is_utc ? 0 : point.zone);
  if (seconds < min_time_seconds || seconds > max_time_seconds) return TimeFault::outside_years;
  number = time_unit_at(seconds, unit);
  if (span != nullptr) span->add(seconds);
  return TimeFault::none;
}

std::optional<std::int64_t> number_of_time_label(std::string_view label, TimeUnit unit) {
  std::int64_t number = 0;
  if (parse_time_unit(label, unit, number) != TimeFault::none) return std::nullopt;
  if (time_unit_label(number, unit) != label) return std::nullopt;
  return number;
}

}  // namespace blco
