#pragma once

#include <cstdint>

#include "kernels/backend.hpp"

namespace blco {

// Rows of a mode that a worker owns: where the backend has them, and the number of the first one in the container.
struct PlacedRows {
  OwnedRows places = {};
  std::uint64_t first = 0;
};

}  // namespace blco
