// Reads TZif, the files of the time zone database (RFC 8536), and the rules of POSIX at their end (section 3.3.1).
#include "io/table/time_zone.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "blco/refuse.hpp"
#include "io/table/time_unit.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 3> zone_folders = {"/usr/share/zoneinfo", "/usr/lib/zoneinfo",
                                                     "/usr/share/lib/zoneinfo"};
constexpr std::size_t max_zone_bytes = std::size_t{1} << 20;

class ZoneText {
 public:
  explicit ZoneText(std::string_view text) : text_(text) {}

  bool at_end() const { return text_.empty(); }
  bool take(char c) {
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  std::optional<int> number() {
    int value = 0;
    const auto [end, failure] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (failure != std::errc() || value < 0) return std::nullopt;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return value;
  }
  // "-1:30:00" as seconds.
  std::optional<std::int64_t> clock() {
    const std::int64_t sign = take('-') ? -1 : 1;
    if (sign == 1) take('+');
    std::int64_t seconds = 0;
    for (const int unit : {3600, 60, 1}) {
      const auto part = number();
      if (!part) return std::nullopt;
      seconds += unit * *part;
      if (!take(':')) break;
    }
    return sign * seconds;
  }
  // "CET" or "<+03>".
  bool skip_name() {
    const std::size_t begin = text_.size();
    if (take('<')) {
      while (!at_end() && !take('>')) text_.remove_prefix(1);
    } else {
      const auto is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
      while (!at_end() && is_letter(text_.front())) text_.remove_prefix(1);
    }
    return text_.size() < begin;
  }

 private:
  std::string_view text_;
};

// "+02:00", "-0530", "+02".
std::optional<std::int64_t> fixed_offset(std::string_view name) {
  if (name == "UTC" || name == "Z" || name == "GMT") return 0;
  if (name.size() < 3 || (name[0] != '+' && name[0] != '-')) return std::nullopt;
  std::string digits;
  for (const char c : name.substr(1)) {
    if (c >= '0' && c <= '9')
      digits += c;
    else if (c != ':' || digits.size() != 2)
      return std::nullopt;
  }
  if (digits.size() != 2 && digits.size() != 4) return std::nullopt;
  digits.resize(4, '0');
  const int number = std::stoi(digits);
  return (name[0] == '-' ? -1 : 1) * (number / 100 * 3600 + number % 100 * 60);
}

// Of a zone by its name, which leads to no other folder; empty: there is none.
std::string read_zone(std::string_view name) {
  const bool is_plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '/' || c == '_' ||
           c == '-' || c == '+';
  });
  if (name.empty() || name.front() == '/' || !is_plain) return "";
  for (const char* const folder : zone_folders) {
    const fs::path path = fs::path(folder) / name;
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored) || fs::file_size(path, ignored) > max_zone_bytes) continue;
    std::ifstream file(path, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (bytes.starts_with("TZif")) return bytes;
  }
  return "";
}

}  // namespace

TimeZone::TimeZone(std::string_view name) {
  if (const auto offset = fixed_offset(name)) {
    offsets_ = {*offset};
    return;
  }
  if (const std::string file = read_zone(name); !file.empty()) read(file);
  if (!offsets_.empty()) return;
  refuse(
      "the time zone " + quoted_for_message(name) +
      " is not in the machine's time zone database, /usr/share/zoneinfo; install it (package tzdata), or convert the "
      "column to times without a zone");
}

// A header and a block of 32 bits, and from version 2 on again both, of 64 bits, and the rule between two line ends.
void TimeZone::read(std::string_view file) {
  constexpr std::size_t header_bytes = 44;
  const auto number_at = [&](std::size_t at, std::size_t bytes) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < bytes; ++i) number = number << 8 | static_cast<unsigned char>(file[at + i]);
    return bytes == 4 ? std::int64_t{static_cast<std::int32_t>(number)} : static_cast<std::int64_t>(number);
  };
  struct Counts {
    std::size_t flags, leaps, times, types, letters;
  };
  const auto counts_at = [&](std::size_t at) {
    const auto count = [&](std::size_t i) {
      return static_cast<std::size_t>(number_at(at + 20 + 4 * i, 4) & 0xffffff);
    };
    return Counts{count(0) + count(1), count(2), count(3), count(4), count(5)};
  };
  const auto block_bytes = [](const Counts& n, std::size_t width) {
    return n.times * (width + 1) + n.types * 6 + n.letters + n.leaps * (width + 4) + n.flags;
  };
  if (file.size() < header_bytes) return;
  std::size_t begin = 0;
  std::size_t width = 4;
  if (file[4] >= '2') {
    begin = header_bytes + block_bytes(counts_at(0), 4);
    width = 8;
    if (begin + header_bytes > file.size()) return;
  }
  const Counts n = counts_at(begin);
  const std::size_t times = begin + header_bytes;
  const std::size_t end = times + block_bytes(n, width);
  if (end > file.size() || n.types == 0) return;
  const std::size_t indices = times + n.times * width;
  const auto offset_of = [&](std::size_t type) { return number_at(indices + n.times + 6 * type, 4); };
  offsets_.push_back(offset_of(0));
  for (std::size_t i = 0; i < n.times; ++i) {
    const auto type = static_cast<unsigned char>(file[indices + i]);
    if (type >= n.types) break;
    transitions_.push_back(number_at(times + i * width, width));
    offsets_.push_back(offset_of(type));
  }
  std::string_view rule = file.substr(end);
  if (width == 8 && rule.size() > 2) has_rule_ = read_rule(rule.substr(1, rule.find('\n', 1) - 1));
}

// "CET-1CEST,M3.5.0,M10.5.0/3": offsets are behind UTC.
bool TimeZone::read_rule(std::string_view whole) {
  ZoneText text(whole);
  if (!text.skip_name()) return false;
  const auto standard = text.clock();
  if (!standard) return false;
  rule_.standard = -*standard;
  if (text.at_end()) return true;
  if (!text.skip_name()) return false;
  rule_.summer = rule_.standard + 3600;
  if (!text.take(',')) {
    const auto summer = text.clock();
    if (!summer || !text.take(',')) return false;
    rule_.summer = -*summer;
  }
  for (Change* const change : {&rule_.begin, &rule_.end}) {
    if (change == &rule_.end && !text.take(',')) return false;
    const bool by_month = text.take('M');
    change->kind = by_month ? Change::Kind::month : text.take('J') ? Change::Kind::julian : Change::Kind::day;
    for (int* const part : {&change->month, &change->week, &change->day}) {
      if (!by_month && part != &change->day) continue;
      const auto number = text.number();
      if (!number || (by_month && part != &change->day && !text.take('.'))) return false;
      *part = *number;
    }
    if (by_month && (change->month < 1 || change->month > 12 || change->week < 1 || change->week > 5)) return false;
    if (text.take('/')) {
      const auto seconds = text.clock();
      if (!seconds) return false;
      change->seconds = *seconds;
    }
  }
  rule_.changes = true;
  return true;
}

// In seconds since 1970 of the clock that changes.
std::int64_t TimeZone::moment_of(const Change& change, int number) {
  namespace chrono = std::chrono;
  const chrono::year year(number);
  chrono::sys_days day = year / 1 / 1;
  if (change.kind == Change::Kind::month) {
    const auto month = year / static_cast<int>(change.month);
    const chrono::weekday weekday(static_cast<unsigned>(change.day % 7));
    day = change.week == 5 ? chrono::sys_days(month / weekday[chrono::last])
                           : chrono::sys_days(month / weekday[static_cast<unsigned>(change.week)]);
  } else {
    // A Julian day counts from 1 and leaves the 29th of February out.
    const bool is_later = change.kind == Change::Kind::julian && year.is_leap() && change.day >= 60;
    day += chrono::days(change.day - (change.kind == Change::Kind::julian && !is_later ? 1 : 0));
  }
  return day.time_since_epoch().count() * seconds_per_day + change.seconds;
}

std::int64_t TimeZone::offset_by_rule(std::int64_t moment) const {
  if (!rule_.changes) return rule_.standard;
  namespace chrono = std::chrono;
  const std::int64_t local = moment + rule_.standard;
  const std::int64_t days = local / seconds_per_day - (local % seconds_per_day < 0 ? 1 : 0);
  const int year = static_cast<int>(chrono::year_month_day(chrono::sys_days(chrono::days(days))).year());
  const std::int64_t begin = moment_of(rule_.begin, year) - rule_.standard;
  const std::int64_t end = moment_of(rule_.end, year) - rule_.summer;
  const bool is_summer = begin < end ? moment >= begin && moment < end : moment >= begin || moment < end;
  return is_summer ? rule_.summer : rule_.standard;
}

std::int64_t TimeZone::offset_at(std::int64_t moment) const {
  const auto next = std::ranges::upper_bound(transitions_, moment);
  if (next == transitions_.end() && has_rule_) return offset_by_rule(moment);
  return offsets_[static_cast<std::size_t>(next - transitions_.begin())];
}

}  // namespace blco
