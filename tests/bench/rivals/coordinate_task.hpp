// The nonzeros of a list of coordinates, and the matrices that an MTTKRP reads and adds to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tests/bench/rivals/rival.hpp"

namespace blco {

// Nonzero i has row rows[k][i s] of factors[k], one of the modes other than the target; s is the distance from one
// nonzero to the next. All matrices have padded rows (RowMatrix<T>). Nonzeros and permutations can be read
// look_ahead_nonzeros beyond their ends.
template <class T>
struct CoordinateTask {
  std::array<const T*, most_rival_modes - 1> factors{};
  std::array<const std::uint32_t*, most_rival_modes - 1> rows{};
  std::size_t factor_count = 0;
  const T* values = nullptr;
  T* output = nullptr;
  std::size_t rank = 0;
  std::size_t stride = 0;      // numbers from one row to the next, in every matrix
  bool prefetch_rows = false;  // the factors that are read exceed prefetched_bytes
};

}  // namespace blco
