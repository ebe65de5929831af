// Parses the value of a nonzero in any accepted form.
#pragma once

#include <string_view>

namespace blco {

enum class TnsValueFault { none, no_number, not_finite, overflow };

// Accepts what std::from_chars accepts in its general format, and a leading plus sign. A value too small for a double
// becomes a zero of the same sign. Sets `value` only if the result is `none`.
TnsValueFault parse_tns_value(std::string_view field, double& value);

}  // namespace blco
