// The kernels of trees and of slices for double.
#include "kernels/highway_targets.hpp"
#include "tests/bench/rivals/csf/slice_kernel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/bench/rivals/csf/slice_kernel_f64.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "tests/bench/rivals/csf/slice_kernel-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace blco::HWY_NAMESPACE {

void mttkrp_csf_f64(const CsfTask<double>& task, const CsfPart& part) { walk<TreeWalk>(task, part); }
void mttkrp_slices_f64(const CsfTask<double>& task, const CsfPart& part) { walk<SliceWalk>(task, part); }

}  // namespace blco::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blco {

HWY_EXPORT(mttkrp_csf_f64);
HWY_EXPORT(mttkrp_slices_f64);

void mttkrp_csf(const CsfTask<double>& task, const CsfPart& part) { HWY_DYNAMIC_DISPATCH(mttkrp_csf_f64)(task, part); }

void mttkrp_slices(const CsfTask<double>& task, const CsfPart& part) {
  HWY_DYNAMIC_DISPATCH(mttkrp_slices_f64)(task, part);
}

}  // namespace blco
#endif  // HWY_ONCE
