// The fields of a line of coordinate text, and the value among them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace blco {

enum class TnsValueFault { none, no_number, not_finite, overflow };

// Accepts what std::from_chars accepts in its general format, and a leading plus sign. A value too small for a double
// becomes a zero of the same sign. Sets `value` only if the result is `none`.
TnsValueFault parse_tns_value(std::string_view field, double& value);

// The number in a field such as 1.0e+00, which programs that know only reals write for an index: unsigned, whole, and
// so small that a double has all whole numbers up to it. Nothing for any other field.
std::optional<std::uint64_t> whole_of_real(std::string_view field);

// Returns views into `line`. Slow; for single lines.
inline std::vector<std::string_view> split_fields(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t begin = line.find_first_not_of(" \t", at);
    if (begin == std::string_view::npos) break;
    at = std::min(line.find_first_of(" \t", begin), line.size());
    fields.push_back(line.substr(begin, at - begin));
  }
  return fields;
}

}  // namespace blco
