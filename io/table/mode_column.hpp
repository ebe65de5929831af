// What an entry of ColumnOptions::modes asks for: a column, and how its fields become coordinates.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/table/time_unit.hpp"

namespace blco {

// How fields become coordinates.
struct FieldReading {
  enum class Kind { keys, index, time, bins, quantiles };

  Kind kind = Kind::keys;
  TimeUnit unit = TimeUnit::day;  // of Kind::time
  bool every = false;             // units without rows between the first and the last have labels too
  bool is_utc = false;            // of times that tell their zone; else they count by the clock there
  std::uint64_t bins = 0;         // of Kind::bins and Kind::quantiles
};

struct ModeColumn {
  std::string column;
  FieldReading reading;
  std::string name;  // of the mode, where the caller gives none: the column, or "when:day" if several modes have it
};

inline constexpr std::uint64_t max_bins = 65'536;

// "user" is a column of keys, "user:index" one of whole numbers from 0 that are the indices themselves. "when:day" is
// one of times and its unit, "when:day:every" with labels for all days between the first and the last, "when:day:utc"
// by UTC and not by the clock of the zone that a time has, which ":local" says; "price:bins=20" and
// "price:quantiles=20" are of numbers. An entry that is a column's whole name means that column. `columns` are all that
// the header has. The result may name columns that are not there. Throws Error{invalid_argument}: a reading that there
// is not, listing those that there are; two entries that differ in :every at most.
std::vector<ModeColumn> parse_mode_columns(std::span<const std::string> entries, std::span<const std::string> columns);

}  // namespace blco
