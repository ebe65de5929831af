// The row kernels, compiled once per precision and instruction set.
#include "kernels/host/mttkrp_rows.hpp"

#include "kernels/highway_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/mttkrp_rows.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/host/mttkrp_rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {

void add_nonzeros(const RowsTask<BLCO_SUM, BLCO_FACTOR>& task, NonzeroRange range) { add_range(task, range); }

}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blco {

HWY_EXPORT(add_nonzeros);

template <class Sum, class Factor>
void mttkrp_rows(const RowsTask<Sum, Factor>& task, NonzeroRange range) {
  HWY_DYNAMIC_DISPATCH(add_nonzeros)(task, range);
}

template void mttkrp_rows(const RowsTask<BLCO_SUM, BLCO_FACTOR>&, NonzeroRange);

}  // namespace blco
#endif  // HWY_ONCE
