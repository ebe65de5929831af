// Folds two values at the same coordinates into one.
#pragma once

#include <algorithm>
#include <blco/ingest.hpp>
#include <cmath>

namespace blco {

// `value` belongs to the entry that comes first in the input. Requires: policy is not DuplicatePolicy::error.
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

// Tells whether the duplicates within a run may be folded early, before runs are merged, without changing a bit of the
// result. Requires: admits() is called for each run, in input order.
class EarlyFolding {
 public:
  explicit EarlyFolding(DuplicatePolicy policy) : policy_(policy) {}

  DuplicatePolicy policy() const { return policy_; }

  // `values` is a range, and get(element) its value. Sums of integers are exact in any order while none exceeds 2^53.
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
  double total_ = 0;  // of the magnitudes of all values so far
};

}  // namespace blco
