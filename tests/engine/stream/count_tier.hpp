// How many chunks of a plan are kept where.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/stream/stream_plan.hpp"

namespace blco {

inline std::uint64_t count_tier(const StreamPlan& plan, Tier tier) {
  return static_cast<std::uint64_t>(std::count(plan.tiers.begin(), plan.tiers.end(), tier));
}

}  // namespace blco
