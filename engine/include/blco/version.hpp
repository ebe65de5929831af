// The version of the library.
#pragma once

namespace blco {

inline constexpr const char* version_string = "0.1.0";

}  // namespace blco
