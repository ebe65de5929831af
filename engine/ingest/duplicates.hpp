// What becomes of two values at the same coordinates.
#pragma once

#include <algorithm>
#include <blco/ingest.hpp>
#include <cmath>

namespace blco {

// `value` is of the entry that comes first in the input. Not for DuplicatePolicy::error.
inline double fold_values(DuplicatePolicy policy, double value, double other) {
  switch (policy) {
    case DuplicatePolicy::first:
      return value;
    case DuplicatePolicy::last:
      return other;
    case DuplicatePolicy::max:
      return std::max(value, other);
    default:
      return value + other;
  }
}

// Tells whether duplicates within a run may be folded before those of the runs before it are known, the result being
// the same to the last bit. Runs are asked about in input order.
class EarlyFolding {
 public:
  explicit EarlyFolding(DuplicatePolicy policy) : policy_(policy) {}

  DuplicatePolicy policy() const { return policy_; }

  // `values` can be gone through by for. Sums of integers are exact, in any order, as long as none can exceed 2^53.
  template <class Values, class Get>
  bool admits(const Values& values, const Get& get) {
    if (policy_ == DuplicatePolicy::error) return false;
    if (policy_ != DuplicatePolicy::sum) return true;
    constexpr double exact_limit = 9007199254740992.0;
    for (const auto& entry : values) {
      if (!(total_ <= exact_limit)) return false;
      const double value = get(entry);
      total_ = value == std::trunc(value) ? total_ + std::abs(value) : 2 * exact_limit;
    }
    return total_ <= exact_limit;
  }

 private:
  DuplicatePolicy policy_;
  double total_ = 0;  // of all magnitudes so far
};

}  // namespace blco
