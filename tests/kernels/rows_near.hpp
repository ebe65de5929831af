// Judges an MTTKRP by the rounding errors that its sums may have.
#pragma once

#include <gmock/gmock.h>

#include <cmath>

namespace blco::testing {

// Every entry is within `tolerance` of the sum of absolute products that went into it.
MATCHER_P2(RowsNear, expected, tolerance, "has rows near the expected ones") {
  if (arg.size() != expected.rows.size()) return false;
  for (std::size_t i = 0; i < arg.size(); ++i) {
    if (!(std::abs(arg[i] - expected.rows[i]) <= tolerance * expected.sizes[i])) {
      *result_listener << "entry " << i << " is " << arg[i] << " instead of " << expected.rows[i] << ", of "
                       << expected.sizes[i] << " in absolute terms";
      return false;
    }
  }
  return true;
}

}  // namespace blco::testing
