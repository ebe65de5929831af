// Segmented sums for float.
#include "kernels/highway_targets.hpp"
#include "tests/bench/rivals/fcoo_rows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/bench/rivals/fcoo_rows_f32.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "tests/bench/rivals/fcoo_rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {

void fcoo_segments_f32(const FcooTask<float>& task, const FcooRange<float>& range) { add_segments(task, range); }

}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blco {

HWY_EXPORT(fcoo_segments_f32);

void add_fcoo_segments(const FcooTask<float>& task, const FcooRange<float>& range) {
  HWY_DYNAMIC_DISPATCH(fcoo_segments_f32)(task, range);
}

}  // namespace blco
#endif  // HWY_ONCE
