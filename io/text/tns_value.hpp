// Parses the value of a nonzero in any form that is accepted.
#pragma once

#include <string_view>

namespace blco {

enum class TnsValueFault { none, no_number, not_finite, overflow };

// Takes what std::from_chars takes in its general format, and a plus sign in front. What is too small for a double
// becomes a zero of its sign. `value` is set only if the result is `none`.
TnsValueFault parse_tns_value(std::string_view field, double& value);

}  // namespace blco
