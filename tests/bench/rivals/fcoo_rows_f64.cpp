// Segmented sums for double.
#include "kernels/highway_targets.hpp"
#include "tests/bench/rivals/fcoo_rows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/bench/rivals/fcoo_rows_f64.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "tests/bench/rivals/fcoo_rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {

void fcoo_segments_f64(const FcooTask<double>& task, const FcooRange<double>& range) { add_segments(task, range); }

}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blco {

HWY_EXPORT(fcoo_segments_f64);

void add_fcoo_segments(const FcooTask<double>& task, const FcooRange<double>& range) {
  HWY_DYNAMIC_DISPATCH(fcoo_segments_f64)(task, range);
}

}  // namespace blco
#endif  // HWY_ONCE
