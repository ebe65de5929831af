// Whether duplicates may be folded before runs are merged.
#pragma once

#include <cmath>

#include "blco/duplicate_policy.hpp"
#include "blco/fold_values.hpp"

namespace blco {

// Tells whether the duplicates within a run may be folded early, before runs are merged, without changing a bit of the
// result. Requires: admits() is called for each run, in input order.
class EarlyFolding {
 public:
  explicit EarlyFolding(DuplicatePolicy policy) : policy_(policy) {}

  DuplicatePolicy policy() const { return policy_; }

  // `values` is a range, and get(element) its value. Sums of integers are exact in any order while none exceeds 2^53.
  template <class Values, class Get>
  bool admits(const Values& values, const Get& get) {
    return admits([&] {
      double sum = 0;
      for (const auto& entry : values) {
        if (!(sum <= exact_integer_limit)) break;
        const double value = get(entry);
        sum = value == std::trunc(value) ? sum + std::abs(value) : 2 * exact_integer_limit;
      }
      return sum;
    });
  }

  // The same where `magnitudes` returns the sum of all magnitudes, or more than 2^53 if a value is no integer.
  template <class Magnitudes>
  bool admits(const Magnitudes& magnitudes) {
    if (policy_ == DuplicatePolicy::error || policy_ == DuplicatePolicy::mean) return false;
    const bool adds = policy_ == DuplicatePolicy::sum || policy_ == DuplicatePolicy::count;
    if (adds && total_ <= exact_integer_limit) total_ += magnitudes();
    return !adds || total_ <= exact_integer_limit;
  }

 private:
  DuplicatePolicy policy_;
  double total_ = 0;  // of the magnitudes of all values so far
};

}  // namespace blco
