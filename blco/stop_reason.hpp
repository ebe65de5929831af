// Why a fit stopped.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "blco/enum_names.hpp"

namespace blco {

// `unfinished` marks a checkpoint saved during the fit.
enum class StopReason { tolerance, sweeps, cancelled, time, unfinished };

namespace detail {
// By StopReason.
inline constexpr std::array<const char*, 5> stop_reason_names = {"tolerance", "sweeps", "cancelled", "time",
                                                                 "unfinished"};
}  // namespace detail

inline const char* to_string(StopReason reason) {
  return detail::stop_reason_names.at(static_cast<std::size_t>(reason));
}

// `sweeps` for a word that to_string() does not give.
inline StopReason parse_stop_reason(std::string_view word) {
  return find_name<StopReason>(detail::stop_reason_names, word).value_or(StopReason::sweeps);
}

}  // namespace blco
