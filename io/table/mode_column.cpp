// Splits entries at their last colons.
#include "io/table/mode_column.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {
namespace {

using Kind = FieldReading::Kind;

std::string list_readings() {
  std::string list;
  for (int unit = 0; unit < time_unit_count; ++unit) list.append(name_of(static_cast<TimeUnit>(unit))).append(", ");
  return list + "bins=N, quantiles=N and index; units may be followed by :utc, and all but the last two by :every";
}

[[noreturn]] void refuse_reading(std::string_view entry, std::string_view reading) {
  refuse(option_name("columns.modes") + " asks for " + quoted_for_message(entry) + ", but " +
         quoted_for_message(reading) + " is no way to read a column; there are " + list_readings());
}

// "bins=20" or "quantiles=20".
std::optional<FieldReading> parse_bins(std::string_view entry, std::string_view text) {
  const std::size_t sign = text.find('=');
  const std::string_view name = text.substr(0, sign);
  if (sign == std::string_view::npos || (name != "bins" && name != "quantiles")) return std::nullopt;
  const std::string_view digits = text.substr(sign + 1);
  FieldReading reading{.kind = name == "bins" ? Kind::bins : Kind::quantiles};
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), reading.bins);
  const bool is_whole = result.ec == std::errc() && result.ptr == digits.data() + digits.size();
  if (!is_whole || reading.bins < 2 || reading.bins > max_bins) {
    refuse(option_name("columns.modes") + " asks for " + quoted_for_message(entry) + ", but the number of " +
           std::string(name) + " must be from 2 to " + std::to_string(max_bins));
  }
  return reading;
}

// What may follow a unit of time, each once.
struct Endings {
  bool every = false;
  bool utc = false;
  bool local = false;
};

Endings take_endings(std::string_view& text) {
  Endings endings;
  const auto take = [&](std::string_view ending, bool& found) {
    if (found || !text.ends_with(ending)) return false;
    text.remove_suffix(ending.size());
    return found = true;
  };
  while (take(":every", endings.every) || take(":utc", endings.utc) || take(":local", endings.local)) {
  }
  return endings;
}

FieldReading parse_reading(std::string_view entry, std::string_view text, const Endings& endings) {
  const bool every = endings.every;
  const bool has_zone = endings.utc || endings.local;
  if (const auto unit = time_unit_named(text)) {
    if (endings.utc && endings.local) refuse_reading(entry, "utc:local");
    if (every && recurs(*unit)) {
      refuse(option_name("columns.modes") + " asks for " + quoted_for_message(entry) + ", but " + std::string(text) +
             " recurs, so that none lies between the first and the last; leave out :every");
    }
    return {.kind = Kind::time, .unit = *unit, .every = every, .is_utc = endings.utc};
  }
  if (text == "index" && !every && !has_zone) return {.kind = Kind::index};
  const auto bins = parse_bins(entry, text);
  if (!bins || every || has_zone) {
    refuse_reading(entry, std::string(text) + (every ? ":every" : "") + (endings.utc ? ":utc" : "") +
                              (endings.local ? ":local" : ""));
  }
  return *bins;
}

bool is_same(const ModeColumn& a, const ModeColumn& b) {
  return a.column == b.column && a.reading.kind == b.reading.kind && a.reading.unit == b.reading.unit &&
         a.reading.bins == b.reading.bins;
}

// "when:day" without :every, which a mode's name need not say.
std::string long_name(const ModeColumn& mode) {
  switch (mode.reading.kind) {
    case Kind::keys:
      break;
    case Kind::index:
      return mode.column + ":index";
    case Kind::time:
      return mode.column + ":" + std::string(name_of(mode.reading.unit));
    case Kind::bins:
      return mode.column + ":bins=" + std::to_string(mode.reading.bins);
    case Kind::quantiles:
      return mode.column + ":quantiles=" + std::to_string(mode.reading.bins);
  }
  return mode.column;
}

ModeColumn parse_entry(std::string_view entry, std::span<const std::string> columns) {
  const auto is_column = [&](std::string_view name) { return std::ranges::find(columns, name) != columns.end(); };
  const auto as_keys = [&] { return ModeColumn{.column = std::string(entry), .reading = {}, .name = {}}; };
  if (is_column(entry) || entry.find(':') == std::string_view::npos) return as_keys();
  std::string_view rest = entry;
  const Endings endings = take_endings(rest);
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) {
    if (is_column(rest)) refuse_reading(entry, entry.substr(rest.size() + 1));
    return as_keys();
  }
  return {std::string(rest.substr(0, colon)), parse_reading(entry, rest.substr(colon + 1), endings), {}};
}

}  // namespace

std::vector<ModeColumn> parse_mode_columns(std::span<const std::string> entries, std::span<const std::string> columns) {
  std::vector<ModeColumn> modes;
  for (const std::string& entry : entries) {
    const ModeColumn mode = parse_entry(entry, columns);
    if (std::ranges::any_of(modes, [&](const ModeColumn& other) { return is_same(mode, other); })) {
      refuse(option_name("columns.modes") + " names " +
             (mode.reading.kind == Kind::keys ? "the column " + quoted_for_message(mode.column)
                                              : quoted_for_message(long_name(mode))) +
             " twice");
    }
    modes.push_back(mode);
  }
  for (ModeColumn& mode : modes) {
    mode.name = std::ranges::count(modes, mode.column, &ModeColumn::column) > 1 ? long_name(mode) : mode.column;
  }
  return modes;
}

}  // namespace blco
