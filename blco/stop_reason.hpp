// Why a fit stopped.
#pragma once

#include <array>
#include <cstddef>

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

}  // namespace blco
