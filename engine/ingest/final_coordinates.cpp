// One pass over a batch per mode that changes.
#include "engine/ingest/final_coordinates.hpp"

#include <algorithm>
#include <cstddef>

namespace blco {

bool FinalCoordinates::is_empty() const {
  return std::ranges::all_of(modes_, [](const auto& mode) { return mode.empty(); });
}

std::uint64_t FinalCoordinates::memory_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& mode : modes_) bytes += mode.size() * sizeof(std::uint32_t);
  return bytes;
}

void FinalCoordinates::apply(CoordinateBatch& batch) const {
  const auto order = static_cast<std::size_t>(batch.order);
  const auto replace = [&](auto& coordinates) {
    for (std::size_t n = 0; n < order; ++n) {
      if (!has(n)) continue;
      for (std::size_t at = n; at < coordinates.size(); at += order) coordinates[at] = modes_[n][coordinates[at]];
    }
  };
  replace(batch.narrow);
  replace(batch.wide);
}

}  // namespace blco
