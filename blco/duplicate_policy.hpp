// What becomes of entries with equal coordinates.
#pragma once

namespace blco {

// How entries with equal coordinates become one nonzero: coalesced left to right in input order. `mean` divides
// their sum by their number; `count` takes their number, whatever their values.
enum class DuplicatePolicy { sum, error, first, last, max, mean, count };

}  // namespace blco
