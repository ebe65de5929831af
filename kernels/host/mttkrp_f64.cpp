// The row kernels for double.
#include "kernels/highway_targets.hpp"
#include "kernels/host/mttkrp_rows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/mttkrp_f64.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/host/mttkrp_rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {

void mttkrp_rows_f64(const RowsTask<double>& task, NonzeroRange range) { add_range(task, range); }

}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blco {

HWY_EXPORT(mttkrp_rows_f64);

void mttkrp_rows(const RowsTask<double>& task, NonzeroRange range) {
  HWY_DYNAMIC_DISPATCH(mttkrp_rows_f64)(task, range);
}

}  // namespace blco
#endif  // HWY_ONCE
