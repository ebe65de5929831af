// How far the clocks of a zone are ahead of UTC, by the time zone database of the machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace blco {

class TimeZone {
 public:
  // "Europe/Berlin", "UTC" or "+02:00". Throws Error{invalid_argument}, which says what to do, for a zone that the
  // machine does not have.
  explicit TimeZone(std::string_view name);

  // Seconds at a moment, in seconds since 1970 in UTC.
  std::int64_t offset_at(std::int64_t moment) const;

 private:
  // The day of a year, and the seconds of it, on which clocks change: "M3.5.0/2" is the last Sunday in March at 2:00.
  struct Change {
    enum class Kind { month, julian, day } kind = Kind::month;
    int month = 1;
    int week = 1;  // 5: the last
    int day = 0;   // a weekday from Sunday, or a day of the year
    std::int64_t seconds = 7200;
  };
  // What holds after the last transition: a standard offset, and where there are `changes` one in summer.
  struct Rule {
    std::int64_t standard = 0;
    std::int64_t summer = 0;
    bool changes = false;
    Change begin;
    Change end;
  };

  void read(std::string_view file);
  bool read_rule(std::string_view text);
  std::int64_t offset_by_rule(std::int64_t moment) const;
  static std::int64_t moment_of(const Change& change, int year);

  std::vector<std::int64_t> transitions_;  // rising
  std::vector<std::int64_t> offsets_;      // before the first transition, and from each on
  bool has_rule_ = false;
  Rule rule_;
};

}  // namespace blco
