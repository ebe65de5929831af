// One pass over the text for ISO 8601; numbers are looked at as a whole.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <system_error>

#include "io/table/time_forms.hpp"
#include "io/table/time_unit.hpp"

namespace blco {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool are_digits(std::string_view text) { return std::ranges::all_of(text, is_digit); }

TimeFault take_day(int year, int month, int day, TimePoint& point) {
  if (year == 0) return TimeFault::outside_years;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return TimeFault::no_such_time;
  point.seconds = std::chrono::sys_days(date).time_since_epoch().count() * seconds_per_day;
  return TimeFault::none;
}

// Takes the text from its start, piece by piece.
class IsoScanner {
 public:
  explicit IsoScanner(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool at_end() const { return at_ == end_; }
  bool next_is_digit() const { return at_ != end_ && is_digit(*at_); }

  bool take(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }

  bool take(std::string_view word) {
    if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  bool take_number(std::size_t digits, int& number) {
    if (static_cast<std::size_t>(end_ - at_) < digits) return false;
    const auto found = number_of_digits({at_, digits});
    if (!found) return false;
    number = *found;
    at_ += digits;
    return true;
  }

  void skip_digits() {
    while (next_is_digit()) ++at_;
  }

 private:
  const char* at_;
  const char* end_;
};

TimeFault take_date(IsoScanner& text, TimePoint& point) {
  int year = 0;
  int month = 1;
  int day = 1;
  if (!text.take_number(4, year)) return TimeFault::unknown_form;
  if (text.take('-')) {
    if (!text.take_number(2, month)) return TimeFault::unknown_form;
    point.precision = TimePrecision::month;
    if (text.take('-')) {
      if (!text.take_number(2, day)) return TimeFault::unknown_form;
      point.precision = TimePrecision::day;
    }
  } else {
    if (!text.take_number(2, month) || !text.take_number(2, day)) return TimeFault::unknown_form;
    point.precision = TimePrecision::day;
  }
  return take_day(year, month, day, point);
}

// Of the day; and of the zone, with its sign.
TimeFault take_clock(IsoScanner& text, std::int64_t& seconds) {
  int hour = 0;
  int minute = 0;
  int second = 0;
  if (!text.take_number(2, hour)) return TimeFault::unknown_form;
  const bool has_colons = text.take(':');
  if (has_colons || text.next_is_digit()) {
    if (!text.take_number(2, minute)) return TimeFault::unknown_form;
    if (has_colons ? text.take(':') : text.next_is_digit()) {
      if (!text.take_number(2, second)) return TimeFault::unknown_form;
      if (text.take('.') || text.take(',')) {
        if (!text.next_is_digit()) return TimeFault::unknown_form;
        text.skip_digits();
      }
    }
  }
  if (hour > 23 || minute > 59 || second > 60) return TimeFault::no_such_time;
  seconds = hour * 3600 + minute * 60 + std::min(second, 59);
  return TimeFault::none;
}

TimeFault take_zone(IsoScanner& text, std::int64_t& seconds) {
  text.take(' ');
  if (text.take('Z') || text.take("UTC")) return TimeFault::none;
  const bool minus = text.take('-');
  if (!minus && !text.take('+')) return TimeFault::unknown_form;
  int hour = 0;
  int minute = 0;
  if (!text.take_number(2, hour)) return TimeFault::unknown_form;
  if ((text.take(':') || text.next_is_digit()) && !text.take_number(2, minute)) return TimeFault::unknown_form;
  if (hour > 23 || minute > 59) return TimeFault::no_such_time;
  seconds = (minus ? -1 : 1) * (hour * 3600 + minute * 60);
  return TimeFault::none;
}

TimeFault parse_iso(std::string_view whole, TimePoint& point) {
  IsoScanner text(whole);
  TimePoint found;
  if (const TimeFault fault = take_date(text, found); fault != TimeFault::none) return fault;
  if (!text.at_end()) {
    std::int64_t clock = 0;
    std::int64_t zone = 0;
    if (found.precision != TimePrecision::day || !(text.take('T') || text.take(' '))) return TimeFault::unknown_form;
    if (const TimeFault fault = take_clock(text, clock); fault != TimeFault::none) return fault;
    if (!text.at_end()) {
      if (const TimeFault fault = take_zone(text, zone); fault != TimeFault::none) return fault;
    }
    if (!text.at_end()) return TimeFault::unknown_form;
    found.seconds += clock - zone;
    found.zone = zone;
    if (found.seconds < min_time_seconds || found.seconds > max_time_seconds) return TimeFault::outside_years;
  }
  point = found;
  return TimeFault::none;
}

TimeFault take_since_1970(std::string_view digits, bool has_fraction, bool minus, TimePoint& point) {
  std::uint64_t number = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (result.ec != std::errc()) return TimeFault::outside_years;
  std::uint64_t per_second = 1;
  for (std::uint64_t limit = 100'000'000'000; number >= limit && per_second < 1'000'000'000; limit *= 1000) {
    per_second *= 1000;
  }
  const bool rounds = has_fraction || number % per_second != 0;
  const auto seconds = static_cast<std::int64_t>(number / per_second);
  const std::int64_t found = minus ? -seconds - (rounds ? 1 : 0) : seconds;
  if (found < min_time_seconds || found > max_time_seconds) return TimeFault::outside_years;
  point = {.seconds = found};
  return TimeFault::none;
}

constexpr std::size_t max_doubtful_digits = 5;
constexpr std::size_t min_digits_before_fraction = 9;

// Few digits are rather a month, a day, or the serial day of a spreadsheet. A 0 is a moment, or what stands for none.
bool is_small(std::string_view digits) {
  const std::size_t zeros = std::min(digits.find_first_not_of('0'), digits.size());
  return digits.size() - zeros <= max_doubtful_digits && digits != "0";
}

// A date in digits alone; else a count since 1970.
TimeFault take_unsigned(std::string_view digits, bool has_fraction, TimePoint& point) {
  const std::size_t count = digits.size();
  const bool is_year_first = count >= 4 && digits >= "1900" && digits < "2200";
  const bool may_be_date = count == 14 || count == 17 || (!has_fraction && (count == 8 || count == 12));
  if (is_year_first && may_be_date) return parse_date_digits(digits.substr(0, 14), point);
  if (count == 4 && !has_fraction) {
    TimePoint found{.precision = TimePrecision::year};
    const TimeFault fault = take_day(*number_of_digits(digits), 1, 1, found);
    if (fault == TimeFault::none) point = found;
    return fault;
  }
  if (has_fraction && count < min_digits_before_fraction) return TimeFault::few_digits;
  if (is_small(digits)) return TimeFault::small_number;
  // Counts since 1970 in these numbers of digits are rare, unless they begin like no year.
  const bool is_doubtful = count < min_digits_before_fraction || count == 18 || is_year_first;
  if (is_doubtful && !find_other_forms(digits, {}).empty()) return TimeFault::other_form;
  return take_since_1970(digits, has_fraction, /*minus=*/false, point);
}

}  // namespace

std::optional<int> number_of_digits(std::string_view text) {
  if (text.empty() || !are_digits(text)) return std::nullopt;
  int number = 0;
  for (const char c : text) number = 10 * number + (c - '0');
  return number;
}

TimeFault parse_date_digits(std::string_view digits, TimePoint& point) {
  IsoScanner text(digits);
  TimePoint found;
  if (const TimeFault fault = take_date(text, found); fault != TimeFault::none) return fault;
  std::int64_t clock = 0;
  if (!text.at_end()) {
    if (const TimeFault fault = take_clock(text, clock); fault != TimeFault::none) return fault;
  }
  if (!text.at_end()) return TimeFault::unknown_form;
  found.seconds += clock;
  point = found;
  return TimeFault::none;
}

std::optional<TimeNumber> split_time_number(std::string_view text) {
  TimeNumber number;
  number.is_negative = text.starts_with('-');
  number.has_sign = number.is_negative || text.starts_with('+');
  if (number.has_sign) text.remove_prefix(1);
  const std::size_t mark = std::min(text.find_first_of(".,"), text.size());
  number.digits = text.substr(0, mark);
  if (number.digits.empty() || !are_digits(number.digits)) return std::nullopt;
  if (mark == text.size()) return number;
  number.fraction = text.substr(mark + 1);
  if (number.fraction.empty() || !are_digits(number.fraction)) return std::nullopt;
  if (number.fraction.find_first_not_of('0') == std::string_view::npos) number.fraction = {};
  return number;
}

TimeFault parse_time(std::string_view text, TimePoint& point) {
  if (text.size() > 4 && text[4] == '-') return parse_iso(text, point);
  const auto number = split_time_number(text);
  if (!number) {
    const bool has_words = text.find_first_not_of("0123456789+-.,") != std::string_view::npos;
    return has_words ? parse_iso(text, point) : TimeFault::unknown_form;
  }
  const bool has_fraction = !number->fraction.empty();
  if (!number->has_sign) return take_unsigned(number->digits, has_fraction, point);
  if (has_fraction && number->digits.size() < min_digits_before_fraction) return TimeFault::few_digits;
  // Such as -1 and -999, which stand for none.
  if (number->is_negative && is_small(number->digits)) return TimeFault::small_number;
  return take_since_1970(number->digits, has_fraction, number->is_negative, point);
}

}  // namespace blco
