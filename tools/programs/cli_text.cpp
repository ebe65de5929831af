// Parses arguments, formats numbers, and puts flags in the place of what the library calls its options.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <blco/ingest.hpp>
#include <blco/option_table.hpp>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <system_error>

#include "tools/programs/cli.hpp"

namespace blco::cli {
namespace {

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

using Unit = std::pair<std::string_view, double>;

// A number without sign and exponent, then the name of a unit.
std::optional<double> parse_with_unit(const std::string& text, std::span<const Unit> units) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  const auto unit = std::ranges::find(units, std::string_view(rest, end), &Unit::first);
  const bool digit_first = !text.empty() && text.front() >= '0' && text.front() <= '9';
  if (!digit_first || failure != std::errc{} || unit == units.end()) return std::nullopt;
  return number * unit->second;
}

// Flags that are not the name of the option with hyphens, where the table of the options of a fit does not have them.
using Flag = std::pair<std::string_view, std::string_view>;
constexpr Flag other_flags[] = {
    {"formats", "--format"},         {"label_files", "--labels"},   {"max_error", "--error"},
    {"memory_bytes", "--memory"},    {"names", "--columns"},        {"null_words", "--null"},
    {"planted_rank", "--rank"},      {"sorts_on_gpu", "--devices"}, {"temporary_directory", "--tmp"},
    {"zstd_level", "--compression"},
};

// Begins an option that another program has.
constexpr std::string_view ingest_options = "IngestOptions.";

std::string flag_of(std::string_view option) {
  option.remove_prefix(option.rfind('.') + 1);  // "columns.modes" is --modes
  for (const auto& [name, flag] : other_flags) {
    if (name == option) return std::string(flag);
  }
  for (const Option<CpdOptions>& row : cpd_option_table()) {
    if (row.name != option && row.field != option) continue;
    option = row.flag.empty() ? row.name : row.flag;
    break;
  }
  std::string flag = "--";
  flag += option;
  std::ranges::replace(flag, '_', '-');
  return flag;
}

// The text between the quote at `at` and its closing quote, behind which `at` is then; two quotes are one.
std::string take_quoted_name(const std::string& text, std::size_t& at) {
  std::string name;
  for (++at; at < text.size(); ++at) {
    if (text[at] == '"' && (++at == text.size() || text[at] != '"')) return name;
    name += text[at];
  }
  refuse(fmt::format("'{}' has a quote that is not closed; close it, and double every quote within a name", text));
}

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: not UTF-8
};

// Of text that is not empty.
Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (bytes == 0 || bytes > text.size()) return {};
  Character character{lead & (0x7fu >> bytes), bytes};
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return {};
    character.code = character.code << 6 | (byte & 0x3f);
  }
  return character;
}

// Controls of terminals, line breaks, and controls of the direction of text (Unicode 15, Bidi_Control).
bool is_control(std::uint32_t code) {
  const auto between = [code](std::uint32_t first, std::uint32_t last) { return first <= code && code <= last; };
  return code < 0x20 || between(0x7f, 0x9f) || code == 0x61c || between(0x200e, 0x200f) || between(0x2028, 0x202e) ||
         between(0x2066, 0x2069);
}

}  // namespace

std::uint64_t parse_size(const std::string& text) {
  static constexpr Unit units[] = {{"", 1},       {"b", 1},        {"k", 0x1p10},   {"kib", 0x1p10}, {"kb", 1e3},
                                   {"m", 0x1p20}, {"mib", 0x1p20}, {"mb", 1e6},     {"g", 0x1p30},   {"gib", 0x1p30},
                                   {"gb", 1e9},   {"t", 0x1p40},   {"tib", 0x1p40}, {"tb", 1e12}};
  const std::optional<double> bytes = parse_with_unit(lower_case(text), units);
  if (!bytes) refuse(fmt::format("'{}' is not a size, such as 512MiB, 2GiB, 64M or 1048576", text));
  // No budget exceeds 2^60 bytes, and below that a double holds every size exactly enough.
  if (*bytes < 1 || *bytes > 0x1p60) refuse(fmt::format("'{}' is not from 1 to 2^60 bytes", text));
  return static_cast<std::uint64_t>(*bytes);
}

std::uint64_t parse_whole(const std::string& text, std::uint64_t min, std::uint64_t max) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  if (failure == std::errc::result_out_of_range || (failure == std::errc{} && rest == end && number > max)) {
    refuse(fmt::format("{} is above the maximum of {}", text, max));
  }
  if (failure != std::errc{} || rest != end)
    refuse(fmt::format("'{}' is not a whole number of at least {}", text, min));
  if (number < min) refuse(fmt::format("{} is below the minimum of {}", number, min));
  return number;
}

double parse_real(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc{} || rest != end || !std::isfinite(number) || std::signbit(number)) {
    refuse(fmt::format("'{}' is not a number of at least 0", text));
  }
  return number;
}

Loss parse_loss_name(const std::string& text) {
  const std::optional<Loss> loss = parse_loss(text);
  if (!loss) refuse(fmt::format("'{}' is not one of {}; {}", text, loss_choices(), loss_parameter_ranges()));
  return *loss;
}

std::string loss_choices() { return fmt::format("{}", fmt::join(loss_names(), ", ")); }

double parse_signed(const std::string& text) {
  const bool is_negative = text.starts_with('-');
  try {
    return is_negative ? -parse_real(text.substr(1)) : parse_real(text);
  } catch (const Error&) {
    refuse(fmt::format("'{}' is not a number", text));
  }
}

double parse_duration(const std::string& text) {
  static constexpr Unit units[] = {{"", 1}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};
  const std::optional<double> seconds = parse_with_unit(text, units);
  if (!seconds || *seconds <= 0 || *seconds >= 1e9) {
    refuse(fmt::format("'{}' is not a time, such as 90s, 30m or 2h", text));
  }
  return *seconds;
}

std::vector<std::uint64_t> parse_shape(const std::string& text) {
  std::vector<std::uint64_t> shape;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('x', at), text.size());
    const std::string length = text.substr(at, end - at);
    try {
      shape.push_back(parse_whole(length, 1, std::numeric_limits<std::uint64_t>::max()));
    } catch (const Error&) {
      refuse(fmt::format("'{}' is not a shape, such as 100x200x300: '{}' is not the length of a mode", text, length));
    }
    at = end + 1;
  }
  return shape;
}

std::vector<std::string> parse_names(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    at = std::min(text.find_first_not_of(' ', at), text.size());
    std::string name;
    if (at < text.size() && text[at] == '"') name = take_quoted_name(text, at);
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string rest = text.substr(at, end - at);
    name += rest.substr(0, rest.find_last_not_of(' ') + 1);
    at = end;
    if (name.empty()) {
      refuse(fmt::format("'{}' has an empty name; put one comma between two names, as in one,two", text));
    }
    names.push_back(std::move(name));
  }
  return names;
}

std::filesystem::path parse_input(const std::string& text) {
  if (text.empty()) refuse("a file name must not be empty");
  return text == "-" ? "/dev/stdin" : text;
}

std::pair<int, int> parse_compression(const std::string& text) {
  const IngestOptions usual;
  constexpr int high_level = 12;
  constexpr int usual_saving = 10;
  if (text == "none") return {0, 0};
  if (text == "auto") return {usual.zstd_level, usual.zstd_saving_percent};
  if (text == "fast") return {usual.zstd_level, usual_saving};
  if (text == "small") return {high_level, 0};
  const std::string prefix = "zstd:";
  try {
    if (text.starts_with(prefix)) {
      return {static_cast<int>(parse_whole(text.substr(prefix.size()), 1, 19)), usual_saving};
    }
  } catch (const Error&) {
  }
  refuse(fmt::format("'{}' is none of none, auto, fast, small and zstd:N with N from 1 to 19", text));
}

std::string printable(std::string_view text, std::size_t longest, bool lines) {
  std::string shown;
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) {
    if (count == longest) return shown + "...";
    const Character character = first_character(text.substr(at));
    if (character.bytes == 0) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at++]));
      continue;
    }
    if (is_control(character.code) && !(lines && character.code == '\n')) {
      shown += fmt::format("\\u{:04x}", character.code);
    } else {
      shown += text.substr(at, character.bytes);
    }
    at += character.bytes;
  }
  return shown;
}

std::string format_bytes(std::uint64_t bytes) {
  // A number that would print as 1024.0 moves to the next unit.
  auto number = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; number >= (unit == 0 ? 1024 : 1023.95) && unit < 5; ++unit) number /= 1024;
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", number, units[unit]);
}

std::string format_count(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

std::string format_count(std::uint64_t count, const char* noun) {
  return fmt::format("{} {}{}", format_count(count), noun, count == 1 ? "" : "s");
}

std::string format_shape(std::span<const std::uint64_t> shape) { return fmt::format("{}", fmt::join(shape, "x")); }

std::string format_modes(std::span<const std::uint64_t> modes, std::size_t order) {
  if (modes.size() == order) return "all modes";
  return fmt::format("mode{} {}", modes.size() == 1 ? "" : "s", fmt::join(modes, ", "));
}

std::string format_bits(std::uint64_t bytes, std::uint64_t nnz) {
  return fmt::format("{:.2f}", nnz == 0 ? 0.0 : 8 * static_cast<double>(bytes) / static_cast<double>(nnz));
}

std::string name_flags(const std::string& message, const std::function<bool(const std::string& flag)>& is_flag) {
  std::string text;
  std::size_t at = 0;
  for (std::size_t open = 0; (open = message.find('`', at)) != std::string::npos;) {
    text += message.substr(at, open - at);
    const std::size_t close = message.find('`', open + 1);
    const std::string quoted = close == std::string::npos ? "" : message.substr(open + 1, close - open - 1);
    const std::size_t sign = quoted.find(" = ");
    const std::string flag = flag_of(quoted.substr(0, sign));
    const bool is_of_ingest = quoted.starts_with(ingest_options);
    if (is_of_ingest || is_flag(flag)) {
      text += is_of_ingest ? "blco-ingest " + flag : flag;
      if (sign != std::string::npos) text.append(" ").append(quoted, sign + 3);
      at = close + 1;
    } else {  // a backtick of something else, such as the name of a file
      text += '`';
      at = open + 1;
    }
  }
  return text + message.substr(at);
}

}  // namespace blco::cli
