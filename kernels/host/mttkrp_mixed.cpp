// The row kernels for factors in float, summed in double.
#include "kernels/highway_targets.hpp"
#include "kernels/host/mttkrp_rows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/mttkrp_mixed.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/host/mttkrp_rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {

void mttkrp_rows_mixed(const RowsTask<double, float>& task, NonzeroRange range) { add_range(task, range); }

}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blco {

HWY_EXPORT(mttkrp_rows_mixed);

void mttkrp_rows(const RowsTask<double, float>& task, NonzeroRange range) {
  HWY_DYNAMIC_DISPATCH(mttkrp_rows_mixed)(task, range);
}

}  // namespace blco
#endif  // HWY_ONCE
