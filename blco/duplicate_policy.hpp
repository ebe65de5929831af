// What becomes of entries with equal coordinates.
#pragma once

namespace blco {

// How entries with equal coordinates become one nonzero: folded left to right in input order.
enum class DuplicatePolicy { sum, error, first, last, max };

}  // namespace blco
