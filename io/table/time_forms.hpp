// Numbers in a column of times: their parts, and what they may mean beside a count since 1970.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace blco {

struct TimeNumber {
  bool has_sign = false;
  bool is_negative = false;
  std::string_view digits = {};    // before the decimal sign, one or more
  std::string_view fraction = {};  // after it; empty: none, or zeros alone
};

// Nothing if the text is anything else.
std::optional<TimeNumber> split_time_number(std::string_view text);

// What other programs write so, in the years 1900 to 2199, as a message shows it: "the hour 2024-03-05T14", "a Julian
// day (2024-03-05T00:00)". It knows months, ordinal dates, dates with their year last or with a clock, and counts of
// days and ticks from elsewhere; a fraction makes further ones possible.
std::vector<std::string> find_other_forms(std::string_view digits, std::string_view fraction);

}  // namespace blco
