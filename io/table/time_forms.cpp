// Counts from elsewhere are a table; dates in digits are taken apart.
#include "io/table/time_forms.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "io/table/time_unit.hpp"

namespace blco {
namespace {

struct OtherCount {
  std::string_view name;
  std::size_t digits;  // that it has in these years, before a fraction
  double unit;         // in seconds
  double zero;         // in seconds since 1970
};

constexpr double day_seconds = seconds_per_day;
constexpr double tick_seconds = 1e-7;

constexpr std::array other_counts = std::to_array<OtherCount>({
    {"a serial day of a spreadsheet", 5, day_seconds, -25'569 * day_seconds},
    {"a modified Julian day", 5, day_seconds, -40'587 * day_seconds},
    {"a day number of MATLAB (datenum)", 6, day_seconds, -719'529 * day_seconds},
    {"a day number of Python (toordinal)", 6, day_seconds, -719'163 * day_seconds},
    {"a Julian day", 7, day_seconds, -2'440'587.5 * day_seconds},
    {"ticks of .NET", 18, tick_seconds, -62'135'596'800},
    {"a FILETIME of Windows", 18, tick_seconds, -11'644'473'600},
});

constexpr double first_moment = -2'208'988'800;  // of 1900
constexpr double end_moment = 7'258'118'400;     // of 2199

bool is_year(std::string_view digits) { return digits >= "1900" && digits < "2200"; }

// The date and clock of digits that begin with the year, to this unit.
std::optional<std::string> label_of_digits(std::string_view digits, TimeUnit unit) {
  TimePoint point;
  if (!is_year(digits) || parse_date_digits(digits, point) != TimeFault::none) return std::nullopt;
  return time_unit_label(time_unit_at(point.seconds, unit), unit);
}

std::optional<std::string> month_of(std::string_view year, std::string_view month) {
  if (!is_year(year) || month.size() != 2 || month < "01" || month > "12") return std::nullopt;
  return "the month " + std::string(year) + "-" + std::string(month);
}

// 2024065.
std::optional<std::string> day_of_year(std::string_view digits) {
  const int day = number_of_digits(digits.substr(4)).value_or(0);
  const int year = number_of_digits(digits.substr(0, 4)).value_or(0);
  const int days = std::chrono::year(year).is_leap() ? 366 : 365;
  if (!is_year(digits) || day < 1 || day > days) return std::nullopt;
  return "day " + std::to_string(day) + " of " + std::to_string(year);
}

bool is_clock(std::string_view hour, std::string_view minute, std::string_view second) {
  const auto is_below = [](std::string_view part, std::string_view end) { return part.size() == 2 && part < end; };
  return is_below(hour, "24") && is_below(minute, "60") && is_below(second, "60");
}

// 05032024 or 03052024.
bool has_year_last(std::string_view digits) {
  const std::string year(digits.substr(4));
  const std::string first(digits.substr(0, 2));
  const std::string second(digits.substr(2, 2));
  return label_of_digits(year + second + first, TimeUnit::day) || label_of_digits(year + first + second, TimeUnit::day);
}

// With the decimal sign of any country.
double value_of(std::string_view digits, std::string_view fraction) {
  const std::string text = std::string(digits) + '.' + std::string(fraction.empty() ? "0" : fraction);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void add_counts(std::string_view digits, std::string_view fraction, std::vector<std::string>& forms) {
  for (const OtherCount& count : other_counts) {
    if (digits.size() != count.digits) continue;
    const double seconds = count.zero + value_of(digits, fraction) * count.unit;
    if (seconds < first_moment || seconds >= end_moment) continue;
    const auto whole = static_cast<std::int64_t>(std::floor(seconds));
    forms.push_back(std::string(count.name) + " (" +
                    time_unit_label(time_unit_at(whole, TimeUnit::minute), TimeUnit::minute) + ")");
  }
}

// What only a fraction makes possible.
std::optional<std::string> form_with_fraction(std::string_view digits, std::string_view fraction) {
  const std::size_t count = digits.size();
  if (count == 4 && is_year(digits)) {
    const auto month = month_of(digits, fraction);
    return month ? *month + " or a year with a fraction" : "a year with a fraction";
  }
  if (digits == "0") return "a part of a day";
  if (count <= 2 && is_clock(count == 1 ? "0" + std::string(digits) : std::string(digits), fraction, "00")) {
    return "the clock " + std::string(digits) + ":" + std::string(fraction);
  }
  if (count == 6 && is_clock(digits.substr(0, 2), digits.substr(2, 2), digits.substr(4))) {
    return "the clock " + std::string(digits.substr(0, 2)) + ":" + std::string(digits.substr(2, 2)) + ":" +
           std::string(digits.substr(4));
  }
  if (const auto day = count == 8 ? label_of_digits(digits, TimeUnit::day) : std::nullopt) {
    return "the day " + *day + " and a part of it";
  }
  return std::nullopt;
}

std::optional<std::string> date_in_digits(std::string_view digits) {
  const std::size_t count = digits.size();
  if (count == 6) return month_of(digits.substr(0, 4), digits.substr(4));
  if (count == 7) return day_of_year(digits);
  if (count == 8 && has_year_last(digits)) return "a date with its year last";
  if (count == 10 || count == 12) {
    const TimeUnit unit = count == 10 ? TimeUnit::hour : TimeUnit::minute;
    const auto label = label_of_digits(digits, unit);
    return label ? std::optional("the " + std::string(name_of(unit)) + " " + *label) : std::nullopt;
  }
  const auto label = count > 14 ? label_of_digits(digits.substr(0, 14), TimeUnit::minute) : std::nullopt;
  return label ? std::optional("the time " + *label + ":" + std::string(digits.substr(12, 2)) + " with a fraction")
               : std::nullopt;
}

}  // namespace

std::vector<std::string> find_other_forms(std::string_view digits, std::string_view fraction) {
  std::vector<std::string> forms;
  if (const auto date = date_in_digits(digits)) forms.push_back(*date);
  if (const auto form = fraction.empty() ? std::nullopt : form_with_fraction(digits, fraction)) forms.push_back(*form);
  add_counts(digits, fraction, forms);
  return forms;
}

}  // namespace blco
